# Children for code of problems: tests that call a program elsewhere.
import opcode

MOST_TESTS = 256  # in one process


class Left(BaseException):
    """The candidate that tests call is no more."""


def try_tests(code, entry_name, call):
    """Runs tests with a candidate elsewhere; how they ended, as fields."""
    calls, theirs = [0], []

    def candidate(*args, **kwargs):
        try:
            fields = dump_rich([*args]), dump_rich(kwargs)
        except Odd as odd:
            send(b"beyond", odd.args[0])
            os._exit(0)
        calls[0] += 1
        send(b"call", *fields)
        reply = receive()
        if reply is None:
            os._exit(0)
        if reply[0] == b"odd":
            return object()
        if reply[0] == b"leave":
            raise Left
        if reply[0] == b"value":
            try:
                return marshal.loads(reply[1])
            except Exception:
                return object()
        kind = ERRORS_BY_NAME.get(reply[1], Exception)
        try:
            args = marshal.loads(reply[3]) if reply[3] else [reply[2].decode("utf-8", "replace")]
            error = kind(*args)
        except Exception:
            error = kind.__new__(kind)
        theirs[:] = [error]
        raise error

    candidate.__name__ = entry_name or "candidate"
    space = new_module("tests" if call else "__main__", "tests.py")
    try:
        if entry_name:
            space[entry_name] = candidate
        exec(code, space)
        if call:
            space[call](candidate)
    except Left:
        return (b"left",)
    except BaseException as error:
        return failure(error, theirs and theirs[-1] is error, calls[0])
    return b"done", str(calls[0]).encode()


def run_test(argv, nonce, kept):
    """Tests with a candidate elsewhere: argv[1] is its name, argv[2] the test function or nothing."""
    begin(["tests.py"], nonce)
    sys.setrecursionlimit(10000)
    code = compile_tests(kept[b"test"])
    send(*try_tests(code, *argv[1:]), b"1" if is_plain(code, argv[1]) else b"0")
    os._exit(0)


def make_is_plain():
    touching = [opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME")]
    store, extended = opcode.opmap["STORE_NAME"], opcode.EXTENDED_ARG
    # None of them leads to an object that lasts longer than the tests and can be changed.
    known = frozenset(
        """abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float format frozenset hash hex int isinstance
        issubclass iter len list map max min next object oct ord pow range repr reversed round set slice sorted str sum tuple type zip
        append clear copy count extend index insert pop remove reverse sort add difference discard intersection isdisjoint issubset
        issuperset symmetric_difference union update get items keys setdefault values capitalize casefold center encode decode
        endswith find isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isspace istitle isupper join ljust
        lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines
        startswith strip swapcase title upper zfill bit_length conjugate imag real is_integer
        AssertionError AttributeError Exception IndexError KeyError NotImplementedError OverflowError RecursionError RuntimeError
        StopIteration TypeError ValueError ZeroDivisionError""".split()
    )
    code_type, is_known = type(make_is_plain.__code__), known.issuperset

    def is_plain(code, entry_name, own=None):
        """Can these tests leave no trace in the interpreter? They import nothing, set no attributes, and all names in them are
        their own, the candidate's or known ones."""
        ops = code.co_code[::2]
        if any(op in ops for op in touching):
            return False
        if own is None:
            args = code.co_code[1::2]
            own = {code.co_names[args[i]] for i, op in enumerate(ops) if op == store and (i == 0 or ops[i - 1] != extended)}
            own.add(entry_name)
        if not is_known(name for name in code.co_names if name not in own):
            return False
        return all(is_plain(one, entry_name, own) for one in code.co_consts if type(one) is code_type)

    return is_plain


def run_tests(argv, nonce, kept):
    """Tests of one problem after another (text, name of the candidate, test function), as long as they are plain and no more
    went wrong than an assertion: what is no such end is for run_test to find out."""
    begin(["tests.py"], nonce)
    sys.setrecursionlimit(10000)
    for _ in range(MOST_TESTS):
        request = receive()
        if request is None:
            break
        try:
            code = compile(request[0], "tests.py", "exec", dont_inherit=True)
        except BaseException:
            break
        entry_name, call = request[1].decode(), request[2].decode()
        if not is_plain(code, entry_name):
            break
        fields = try_tests(code, entry_name, call)
        if fields[0] == b"failed" and fields[1] != b"AssertionError" and fields[3] != b"1":
            break
        send(*fields, b"1")
    os._exit(0)


is_plain = make_is_plain()
kinds[b"test"] = run_test
kinds[b"tests"] = run_tests
