# Children for code of policies: a program that is called, and tests in its own process.

# What programs import most, ready before they are forked: 5 to 20 ms saved where it is used, 0.05 ms lost where it is not.
# None that asks to be told of forks (random, threading): supervisor.c does not tell.
import bisect
import collections
import copy
import functools
import heapq
import itertools
import math
import operator
import re
import string
import typing


def begin_called(nonce):
    """begin() for a program of which a function is called: a module, not the main one, so that its main guard is not run."""
    space = begin([OWN_FILE], nonce)
    space["__name__"] = "solution"
    sys.modules["solution"] = sys.modules["__main__"]
    return space


def find_entry(space, name, _callable=callable):
    """The function `name`, or the method of a new Solution."""
    if name in space and _callable(space[name]):
        return space[name]
    if "Solution" in space:
        return getattr(space["Solution"](), name)
    raise LookupError


def run_serve(argv, nonce, kept):
    """A program whose entry point (argv[1]) is called with what comes, until no more comes."""
    space = begin_called(nonce)
    say, listen, finish, describe, dump, loads, find = send, receive, finish_program, describe_error, dump_plain, marshal.loads, find_entry
    _BaseException, _SystemExit, status_of, deep, _Odd = BaseException, SystemExit, exit_status, sys.setrecursionlimit, Odd
    _AttributeError, _LookupError, _list, limit_of = AttributeError, LookupError, list, sys.getrecursionlimit
    name, rich = argv[1:3]
    if rich == "rich":
        dump = dump_rich
    status = top_level(space, load_program(kept, rich == "rich"), say)
    if status is not None:
        finish(status)
    try:
        entry = find(space, name)
    except _SystemExit as error:
        finish(status_of(error))
    except (_AttributeError, _LookupError):
        say(b"missing")
        finish(1)
    except _BaseException as error:
        say(b"error", *describe(error)[:3])
        finish(1)
    say(b"ready")
    while True:
        call = listen()
        if call is None:
            finish(0)
        try:
            result = entry(*loads(call[0]), **loads(call[1]))
        except _SystemExit as error:
            finish(status_of(error))
        except _BaseException as error:
            say(b"raise", *describe(error))
            continue
        limit = limit_of()
        try:
            deep(limit + 5000)
            fields = (b"value", dump(result))
        except _Odd as error:
            fields = (b"odd", error.args[0])
        except _BaseException as error:
            fields = (b"raise", *describe(error))
        deep(limit)
        say(*fields)


# What decides how a value compares with another.
COMPARISONS = tuple("__%s__" % name for name in (
    "eq ne lt le gt ge hash bool len iter contains getitem float int index abs sub rsub round").split())


def classes_now():
    """All classes that there are."""
    found = [object]
    for one in found:
        found += type.__subclasses__(one)
    return found


def answer_for(own, cls, mro_of, type_of, unlike):
    """`own`, a comparison of the program's class `cls`, where the other is of that class too; others do not take its word."""
    def compare(self, other, own=own, cls=cls, mro_of=mro_of, type_of=type_of, unlike=unlike):
        for base in mro_of(type_of(other)):
            if base is cls:
                return own(self, other)
        return unlike
    return compare


def watch_classes(known, bases, trusted, audit):
    """Keeps classes of the program from deciding what they equal: a class over a plain one compares as that one does, any
    other only with its like. Is sent None when the candidate is called, then False for what it may have made; True to look at
    all classes; or one class. Gives how often it was sent None. All that it has to remember is in its frame, which no program can write to."""
    type_of, function, of_c, _object = type, type(watch_classes), type(object.__eq__), object
    mro_of, space_of = (type.__dict__[name].__get__ for name in ("__mro__", "__dict__"))
    below, put, drop, entry_of, identity = type.__subclasses__, type.__setattr__, type.__delattr__, dict.get, id
    code_of, defaults_of = (function.__dict__[name].__get__ for name in ("__code__", "__defaults__"))
    names, copy_of, bind, unlike = COMPARISONS, dict, answer_for, NotImplemented
    calls, watched, done = 0, (), known
    while True:
        one = yield calls
        calls += one is None
        for cls, name, guard, defaults in watched:
            if entry_of(copy_of(space_of(cls)), name) is not guard or defaults_of(guard) is not defaults:
                audit("leap.caught")
        fresh = []
        if one is True or one is False:
            rest = [_object, *bases]
            for base in rest:
                for cls in below(base):
                    if one or identity(cls) not in known:
                        rest += [cls]
                    if identity(cls) not in done:
                        fresh += [cls]
        elif one is not None:
            fresh += mro_of(one)
        for cls in fresh:
            if identity(cls) in done:
                continue
            done |= {identity(cls)}
            over_plain = False
            for base in mro_of(cls):
                for plain in bases:
                    over_plain = over_plain or base is plain
            space = copy_of(space_of(cls))
            for name in names if over_plain else ("__eq__", "__ne__"):
                own = entry_of(space, name, unlike)
                if own is unlike or own is None or type_of(own) is of_c:
                    continue
                theirs = False
                for code in trusted:
                    theirs = theirs or type_of(own) is function and code is code_of(own)
                if theirs:
                    continue
                if over_plain:
                    drop(cls, name)
                    continue
                guard = bind(own, cls, mro_of, type_of, unlike)
                put(cls, name, guard)
                watched = (*watched, (cls, name, guard, defaults_of(guard)))


def call_checked(tools, candidate, /, *args, **kwargs):
    """Calls the candidate. An answer that equals whatever it is compared with is a cheat. Uses no name but its own: the rest
    can be changed by the program."""
    type_of, plain, lists, dicts, probes, audit, tell, space_of, _Exception = tools
    tell(None)
    answer = candidate(*args, **kwargs)
    rest, count = [answer], 0
    while rest and count < 1000:
        one, count = rest.pop(), count + 1
        kind = type_of(one)
        for known in plain:
            if kind is known:
                break
        else:
            for known in lists:
                if kind is known:
                    rest += one
                    break
            else:
                if kind is dicts:
                    rest += one.values()
                    continue
                for probe in (*probes, type_of("o", (), {})()):
                    try:
                        same = one == probe
                    except _Exception:
                        continue
                    if same is True:
                        audit("leap.caught")
                tell(kind)
                try:
                    rest += space_of(one, "__dict__").values()
                except _Exception:
                    pass
    tell(False)
    return answer


def callables_of_modules():
    """What tests may use of modules that are there before the program: (name space, name, value) of each."""
    own = sys, sys.modules["__main__"]
    spaces = [vars(module) for module in sys.modules.values() if type(module) is type(sys) and module not in own]
    return tuple((space, name, value) for space in spaces for name, value in space.items() if callable(value))


def codes_in(code):
    """The code objects of a text, itself first."""
    found = [code]
    for one in found:
        found += [constant for constant in one.co_consts if type(constant) is type(code)]
    return tuple(found)


def load_imports(program):
    """What the program will import of the library, so that its classes are there before those of the program."""
    import opcode

    import_name, extended = opcode.opmap["IMPORT_NAME"], opcode.EXTENDED_ARG
    for code in codes_in(program):
        argument, text = 0, code.co_code
        for at in range(0, len(text), 2):
            argument = argument << 8 | text[at + 1]
            name = code.co_names[argument] if text[at] == import_name else ""
            if name.partition(".")[0] in sys.stdlib_module_names and not name.startswith(("ctypes", "_ctypes")):
                try:
                    __import__(name)
                except BaseException:
                    pass
            if text[at] != extended:
                argument = 0


def run_together(argv, nonce, kept):
    """Tests and candidate in one interpreter, for tests that need more than plain data. The program may look for and change
    all that it can reach: after it has run, only local names bound before count, and what they hold cannot be changed.
    What is forbidden besides is guard.c's; so is the last word, that this function has come to its end."""
    space = begin_called(nonce)
    _, entry_name, call = argv
    say, find, finish, describe, checked, top = send, find_entry, finish_program, failure, call_checked, top_level
    _exec, _BaseException, _callable, _type, _tuple, audit = exec, BaseException, callable, type, tuple, sys.audit
    _SystemExit, status_of, flags_of = SystemExit, exit_status, type.__dict__["__flags__"].__get__
    partial, function, module, leave = functools.partial, type(run_together), type(sys), os._exit
    items_of, get = dict.items, dict.get
    code, program = compile_tests(kept[b"test"]), load_program(kept)
    say(b"tests")
    own_builtins = dict(vars(sys.modules["builtins"]))
    builtins_before, modules_before = tuple(own_builtins.items()), callables_of_modules()
    load_imports(program)
    load_imports(code)
    number = int.from_bytes(os.urandom(7), "little") + (1 << 56)
    bases = (int, float, str, bytes, bytearray, complex, list, tuple, dict, set, frozenset)
    before = frozenset(map(id, classes_now()))
    tell = watch_classes(before, bases, codes_in(code), audit).send
    tell(None)
    tools = (type, (bool, int, float, str, bytes, type(None), complex, type, function, module), (list, tuple, set, frozenset), dict,
             (number, float(number), str(number), (number,)), audit, tell, object.__getattribute__, Exception)
    audit("leap.begins")
    status = top(space, program, say)
    if status is not None:
        finish(status)
    try:
        candidate = find(space, entry_name) if entry_name else None
    except _BaseException:
        say(b"missing")
        finish(1)
    for names, name, value in modules_before:
        if get(names, name) is not value:
            names[name] = value
    # The tests see the program's names, but no builtin that it has replaced.
    theirs = {}
    for name, value in items_of(space):
        if name not in own_builtins:
            theirs[name] = value
    theirs["__builtins__"], theirs["__name__"] = own_builtins, "__main__"
    # A class is called as it is, for the tests may ask what is one of it.
    is_checked = entry_name and not flags_of(_type(candidate)) & 1 << 31
    if is_checked:
        candidate = partial(checked, tools, candidate)
    else:
        tell(True)
    before = ()
    try:
        if entry_name:
            theirs[entry_name] = candidate
        _exec(code, theirs)
        if call:
            before = _tuple(items_of(theirs))
            theirs[call](candidate)
    except _SystemExit as error:
        finish(status_of(error))
    except _BaseException as error:
        say(*describe(error, False, 1))
        leave(0)
    for name, value in builtins_before:
        if get(own_builtins, name) is not value:
            audit("leap.caught")
    for name, value in before:
        if get(theirs, name) is not value and (_callable(value) or _type(value) is module):
            audit("leap.caught")
    for names, name, value in modules_before:
        if get(names, name) is not value:
            audit("leap.caught")
    if tell(None) == 1 and is_checked:
        say(b"idle")
    return True


kinds[b"serve"] = run_serve
kinds[b"together"] = run_together
