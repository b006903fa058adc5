# Children of the supervisor that hold Python: a compiler and a program with files; harness_programs.py and harness_tests.py
# add those for code of policies and of problems. What serves after a program has run uses only names bound here, before it ran: a program
# may patch builtins, but not what its answer is read with. Values cross as marshal (version 2) of plain data.
import _signal
import atexit
import io
import marshal
import site
import time

compile("", "", "exec")  # the first one prepares much
site.main()
sys.path[:] = [entry for entry in sys.path if entry]
OWN_FILE = "solution.py"
MAX_DEPTH, MAX_NODES = 400, 4000000
BUILTIN_ERRORS = {
    value: name.encode()
    for name, value in vars(__import__("builtins")).items()
    if isinstance(value, type) and issubclass(value, BaseException) and value.__name__ == name
}
ERRORS_BY_NAME = {name: kind for kind, name in BUILTIN_ERRORS.items()}


class Odd(Exception):
    """A value that cannot cross, or not as it is."""


def make_channel():
    receive_fd, send_fd = RECEIVE, SEND
    nonce = b""
    _len, _bytes, _view, _read, _write = len, bytes, memoryview, os.read, os.write
    to_bytes, from_bytes, join = int.to_bytes, int.from_bytes, b"".join
    _min = min

    def exactly(size):
        parts = []
        while size:
            part = _read(receive_fd, _min(size, 1 << 20))
            if not part:
                return None
            parts.append(part)
            size -= _len(part)
        return join(parts)

    def receive():
        head = exactly(4)
        body = None if head is None else exactly(from_bytes(head, "little"))
        if body is None:
            return None
        fields, at = [], 0
        while at < _len(body):
            size = from_bytes(body[at : at + 4], "little")
            fields.append(body[at + 4 : at + 4 + size])
            at += 4 + size
        return fields

    def send(*fields):
        parts = []
        for field in (nonce, *fields):
            parts.append(to_bytes(_len(field), 4, "little"))
            parts.append(field)
        body = join(parts)
        view = _view(to_bytes(_len(body), 4, "little") + body)
        while view:
            view = view[_write(send_fd, view) :]

    def open_channel(own_nonce):
        nonlocal nonce
        nonce = own_nonce

    return open_channel, send, receive


open_channel, send, receive = make_channel()


def make_plain(rich):
    """A function that turns a value into bytes. `rich` keeps what tests in Python tell apart: tuples, sets, bytes, complex."""
    _type, flags_of = type, type.__dict__["__flags__"].__get__
    int_of, float_of, str_of = int.__int__, float.__pos__, str.__str__
    items_of_list, items_of_tuple, items_of_dict = list.__iter__, tuple.__iter__, dict.items
    size_of, dict_size = len, dict.__len__
    _TypeError, dumps = TypeError, marshal.dumps
    is_int, is_list, is_tuple, is_bytes, is_str, is_dict = 1 << 24, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29
    _tuple, join_bytes, _Odd = tuple, b"".join, Odd
    others = ((complex, complex.__pos__, False), (set, set.__iter__, True), (frozenset, frozenset.__iter__, True))
    count = [0]

    def plain(value, depth):
        if value is None or value is True or value is False:
            return value
        flags = flags_of(_type(value))
        if flags & is_int:
            return int_of(value)
        if flags & is_str:
            return str_of(value)
        if flags & (is_list | is_tuple | is_dict):
            count[0] += 1
            if depth > MAX_DEPTH or count[0] > MAX_NODES:
                raise _Odd(b"a value nested too deep or too large")
            if flags & is_list:
                return [plain(item, depth + 1) for item in items_of_list(value)]
            if flags & is_tuple:
                items = [plain(item, depth + 1) for item in items_of_tuple(value)]
                return _tuple(items) if rich else items
            out = {}
            for key, item in items_of_dict(value):
                kind = flags_of(_type(key))
                if kind & is_str:
                    key = str_of(key)
                elif kind & is_int and key is not True and key is not False:
                    key = int_of(key)
                elif rich:
                    key = plain(key, depth + 1)
                else:
                    raise _Odd(b"a dict with keys that are neither strings nor integers")
                out[key] = plain(item, depth + 1)
            if size_of(out) != dict_size(value):
                raise _Odd(b"a dict with keys that look the same")
            return out
        try:
            return float_of(value)
        except _TypeError:
            pass
        if rich and flags & is_bytes:
            return join_bytes([value])
        if rich:
            for kind, read, nested in others:
                try:
                    inner = read(value)
                except _TypeError:
                    continue
                return kind([plain(item, depth + 1) for item in inner]) if nested else inner
        raise _Odd(b"a value that is no plain data")

    def dump(value):
        count[0] = 0
        return dumps(plain(value, 0), 2)

    return dump


dump_plain, dump_rich = make_plain(False), make_plain(True)


def make_describe():
    _type, mro_of = type, type.__dict__["__mro__"].__get__
    trace_of = BaseException.__dict__["__traceback__"].__get__
    text_of, args_of = BaseException.__str__, BaseException.__dict__["args"].__get__
    _str, _BaseException, encode = str, BaseException, str.encode
    dump, known, own_file = dump_rich, BUILTIN_ERRORS, OWN_FILE

    def describe(error):
        """(built-in type, line in the program or 0, message, arguments as plain data or nothing) as fields."""
        name = b"Exception"
        for base in mro_of(_type(error)):
            if base in known:
                name = known[base]
                break
        line, trace = 0, trace_of(error)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == own_file:
                line = trace.tb_lineno
            trace = trace.tb_next
        try:
            message = encode(text_of(error)[:400], "utf-8", "replace")
        except _BaseException:
            message = b""
        try:
            args = dump(args_of(error))
        except _BaseException:
            args = b""
        return name, encode(_str(line)), message, args

    return describe


describe_error = make_describe()


def make_streams():
    """The interpreter's own streams, made before there is a child: one that does not use them pays nothing."""
    for name, fd in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        raw = io.open(fd, "wb" if fd else "rb", closefd=False)
        errors = "backslashreplace" if fd == 2 else "surrogateescape"
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, newline="\n",
                                  line_buffering=fd == 2)
        stream.mode = "w" if fd else "r"
        raw.raw.name = "<%s>" % name
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)


make_streams()
# A program has 1000 frames; the others are ours.
sys.setrecursionlimit(1008)


def new_module(name, file):
    module = type(sys)(name)
    space = module.__dict__
    space["__builtins__"] = sys.modules["builtins"]
    space["__file__"] = file
    sys.modules[name] = module
    return space


main_spaces = []
last_steps.append(lambda: main_spaces.append(new_module("__main__", OWN_FILE)))
sys.argv = [OWN_FILE]


def begin(argv, nonce):
    """Makes this child a program with these arguments; its name space."""
    open_channel(nonce)
    space = main_spaces.pop()
    if argv != [OWN_FILE]:
        sys.argv = argv
        space["__file__"] = argv[0]
    return space


def make_finish():
    modules, run_at_exit, leave, _BaseException, stream_of = sys.modules, atexit._run_exitfuncs, os._exit, BaseException, sys

    collect, _type, _list, files = gc.collect, type, list, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)

    def finish(status):
        """What the interpreter does at its end: threads, exit handlers, objects of the program, buffers."""
        own = stream_of.__stdout__
        try:
            if "threading" in modules:
                modules["threading"]._shutdown()
            run_at_exit()
        except _BaseException:
            pass
        try:
            # The program's objects go while its names are still there, as their finalisers expect; files before the
            # descriptors below them.
            main = modules.pop("__main__", None)
            modules.pop("solution", None)
            for value in _list(main.__dict__.values()):
                if _type(value) in files and not value.closed:
                    value.flush()
            del main, value
            collect()
        except _BaseException:
            pass
        for stream in (stream_of.stdout, own):
            try:
                stream.flush()
            except _BaseException:
                # A closed stream has nothing left to write; one that cannot write is an error, as in the interpreter.
                if not getattr_closed(stream):
                    status = status or 120
        leave(status)

    def getattr_closed(stream):
        try:
            return stream is None or stream.closed
        except _BaseException:
            return False

    return finish


finish_program = make_finish()


def exit_status(error, _type=type, _int=int):
    code = error.code
    if code is None:
        return 0
    return code & 0xFF if _type(code) is _int or code is True or code is False else 1


def holds_sets(constant):
    """Are there sets among the constants? Marshal does not keep the order of their elements, which programs can see."""
    rest = [constant]
    while rest:
        one = rest.pop()
        if type(one) is frozenset:
            return True
        rest += one if type(one) is tuple else getattr(one, "co_consts", ())
    return False


def run_compile(argv, nonce, kept):
    open_channel(nonce)
    try:
        code = compile(kept[b"source"], OWN_FILE, "exec", dont_inherit=True)
        if holds_sets(code):
            send(b"source")
        else:
            send(b"code", marshal.dumps(code))
    except SyntaxError as error:
        send(b"error", type(error).__name__.encode(), str(error.lineno or 0).encode(), str(error.msg).encode("utf-8", "replace"))
    except BaseException as error:
        send(b"error", type(error).__name__.encode(), b"0", str(error).encode("utf-8", "replace"))
    os._exit(0)


def top_level(space, code, send):
    """Runs the program's text. None when it came to its end, else the exit status."""
    _BaseException, _SystemExit, describe, status_of = BaseException, SystemExit, describe_error, exit_status
    try:
        exec(code, space)
        return None
    except _SystemExit as error:
        return status_of(error)
    except _BaseException as error:
        fields = describe(error)
        error.__traceback__ = None
        send(b"error", *fields[:3])
        return 1


def load_program(kept, tell=False):
    """The program's code: as it is kept, or compiled here. `tell`: says that it went well."""
    if b"source" not in kept:
        program = kept[b"program"]
        return marshal.loads(program) if type(program) is bytes else program
    try:
        code = compile(kept[b"source"], OWN_FILE, "exec", dont_inherit=True)
        if tell:
            send(b"compiled", str(time.process_time()).encode())
        return code
    except BaseException:
        os._exit(0 if tell else 1)


def run_main(argv, nonce, kept):
    """A program that reads stdin and writes stdout. argv is the request's."""
    finish = finish_program
    finish(top_level(begin(argv, nonce), load_program(kept), send) or 0)


def compile_tests(source):
    try:
        return compile(source, "tests.py", "exec", dont_inherit=True)
    except BaseException as error:
        send(b"broken", str(error).encode("utf-8", "replace"))
        os._exit(0)


def failure(error, theirs, calls):
    """That the tests failed, and where, as fields; `theirs`: it was the candidate's own error."""
    name, own, message, _ = describe_error(error)
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "tests.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    return b"failed", name, str(line).encode(), b"1" if theirs else b"0", str(calls).encode(), message, own


readers[b"program"] = marshal.loads
kinds[b"compile"] = run_compile
kinds[b"main"] = run_main
