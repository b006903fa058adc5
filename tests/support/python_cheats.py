"""Programs in Python that attack what calls and judges them: (name, statuses that are right, program). For a function `f` of one
argument that doubles it, and of a function and its argument where tests share the interpreter."""

_FIND = """import gc, sys
def found(name):
    for o in gc.get_objects():
        if getattr(o, '__name__', '') == name: yield o
    frame = sys._getframe()
    while frame:
        for space in (frame.f_locals, frame.f_globals):
            for o in list(space.values()):
                if getattr(o, '__name__', '') == name: yield o
        frame = frame.f_back
    for module in list(sys.modules.values()):
        for o in list(vars(module).values()):
            if getattr(o, '__name__', '') == name: yield o
"""
# An equality that tells the tests' comparison from others.
_CHECKS = "import sys\ndef asked(s, o): return sys._getframe(1).f_code.co_name in ('check', '<genexpr>')\n"
_ANY = "wrong_answer crash early_exit sandbox_violation"

# In the candidate's own process: no value of the tests is there.
APART = [
    ("gc-objects", "wrong_answer", "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if isinstance(o, dict) and ('expect' in o or 'want' in o): return next(iter(o.values()))\n    return 0"),
    ("forged-value", _ANY, _FIND + "def f(x):\n    for send in found('send'): send(b'value', b'i\\x04\\0\\0\\0')\n    return 0"),
    ("forged-done", _ANY, _FIND + "for send in found('send'): send(b'done', b'1')\ndef f(x): return 0"),
    ("forged-then-exit", _ANY, _FIND + "import os\nfor send in found('send'):\n    send(b'ready'); send(b'value', b'i\\x04\\0\\0\\0'); os._exit(0)\ndef f(x): return 0"),
    ("patched-harness", _ANY, "import sys\nframe = sys._getframe()\nwhile frame:\n    for name in ('dump', 'dump_plain', 'dump_rich', 'describe_error', 'marshal', 'send'):\n        if name in frame.f_globals: frame.f_globals[name] = lambda *a: b'i\\x04\\0\\0\\0'\n    frame = frame.f_back\ndef f(x): return 0"),
    ("code-exchanged", _ANY, _FIND + "def lie(value): return b'i\\x04\\0\\0\\0'\nfor name in ('dump', 'plain'):\n    for o in found(name):\n        if hasattr(o, '__code__'):\n            try: o.__code__ = lie.__code__\n            except ValueError: pass\ndef f(x): return 0"),
    ("class-lies", "wrong_answer", "class E:\n    __class__ = property(lambda s: int)\n    def __index__(s): return 4\n    __int__ = __index__\n    def __hash__(s): return 4\n    def __eq__(s, o): return True\ndef f(x): return E()"),
    ("meta", "wrong_answer", "class M(type):\n    def __instancecheck__(s, o): return True\n    def __eq__(s, o): return True\n    __hash__ = type.__hash__\nclass E(metaclass=M): pass\ndef f(x): return E()"),
    ("hash-key", "wrong_answer", "class K(str):\n    def __hash__(s): return 4\n    def __eq__(s, o): return True\ndef f(x): return {K('4'): 4}"),
    ("modules", _ANY, "import sys\nfor name in list(sys.modules):\n    if name not in ('sys', 'builtins', '__main__'): sys.modules[name] = None\ndef f(x): return 0"),
    ("modules-right", "ok", "import sys\nsys.modules.pop('marshal', None)\ndef f(x): return 2 * x"),
    ("builtins", _ANY, "import builtins\nfor name in list(vars(builtins)):\n    if name not in ('__build_class__', '__import__', 'print'): setattr(builtins, name, lambda *a, **k: 4)\ndef f(x): return 0"),
    ("atexit", "sandbox_violation", "import atexit, os\natexit.register(lambda: os.write(4, b'done'))\ndef f(x): raise SystemExit"),
    ("signal", _ANY + " timeout", "import os, signal\nfor n in range(1, 32):\n    try: signal.signal(n, lambda *a: None)\n    except (OSError, ValueError): pass\ndef f(x):\n    os.kill(os.getppid(), 9)\n    os.kill(0, 15)\n    return 0"),
    ("thread-left", "wrong_answer", "import threading, time\ndef late():\n    while True: time.sleep(.01)\ndef f(x):\n    threading.Thread(target=late).start()\n    return 0"),
    ("thread-writes", "sandbox_violation", "import os, threading\ndef late():\n    while True: os.write(4, b'\\0\\0\\0\\0value')\ndef f(x):\n    threading.Thread(target=late, daemon=True).start()\n    for i in range(10 ** 6): pass\n    return 0"),
    ("dup2", _ANY + " timeout", "import os\nos.dup2(1, 4)\ndef f(x): return 0"),
    ("dup2-swap", _ANY + " timeout", "import os\nos.dup2(4, 3)\ndef f(x): return 0"),
    ("reopen", _ANY, "import os\nfor n in range(3, 20):\n    try: os.write(os.open('/proc/self/fd/%d' % n, os.O_RDWR), b'\\0' * 64)\n    except OSError: pass\ndef f(x): return 0"),
    ("memory", "crash wrong_answer", "def f(x):\n    data = open('/proc/self/mem', 'rb')\n    return 4 if data else 0"),
    ("parent-memory", "crash", "def f(x): return open('/proc/1/mem', 'rb').read(1)"),
    ("parent-files", "crash", "import os\ndef f(x): return os.listdir('/proc/1/fd')"),
    ("ctypes", _ANY, "import ctypes\ndef f(x):\n    ctypes.string_at(0)\n    return 4"),
    ("trace", _ANY, "import sys\ndef tracer(frame, event, arg):\n    if event == 'return' and frame.f_code.co_name != 'f': frame.f_locals['result'] = 4\n    return tracer\nsys.settrace(tracer)\nsys.setprofile(tracer)\ndef f(x): return 0"),
    ("trace-jump", _ANY + " timeout", "import sys\ndef tracer(frame, event, arg):\n    try: frame.f_lineno = frame.f_lineno + 1\n    except (ValueError, TypeError): pass\n    return tracer\ndef f(x):\n    frame = sys._getframe(1)\n    sys.settrace(tracer)\n    while frame:\n        frame.f_trace = tracer\n        frame = frame.f_back\n    return 0"),
    ("sleeps-after", "wrong_answer timeout", "import atexit, time\natexit.register(time.sleep, 99)\ndef f(x): return 0"),
    ("maps-files", _ANY, "import mmap, os\ndef f(x):\n    for n in range(20):\n        try:\n            with mmap.mmap(n, 0) as m:\n                if b'expect' in m[:]: return 4\n        except (OSError, ValueError): pass\n    return 0"),
    ("files-used-up", "crash", "import os\nkeep = []\ndef f(x):\n    while True: keep.append(os.open('/dev/null', 0))"),
    ("files-used-up-right", "ok", "import os\nkeep = []\ntry:\n    while True: keep.append(os.open('/dev/null', 0))\nexcept OSError: pass\ndef f(x): return 2 * x"),
    ("limits", "crash wrong_answer", "import resource\nfor n in range(16):\n    try: resource.setrlimit(n, (0, 0))\n    except (ValueError, OSError): pass\ndef f(x): return 0"),
    ("limits-raised", "out_of_memory", "import resource\ntry: resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))\nexcept (ValueError, OSError): pass\ndef f(x): return bytearray(1 << 30)"),
    ("all-memory", "out_of_memory crash", "x = []\ndef f(_):\n    while True: x.append(bytearray(1 << 20))"),
    ("stops-itself", "timeout", "import os, signal\ndef f(x): os.kill(os.getpid(), signal.SIGSTOP)"),
    ("stops-all", "timeout crash wrong_answer", "import os, signal\ndef f(x):\n    try: os.kill(-1, signal.SIGSTOP)\n    except OSError: pass\n    return 0"),
    ("shared-file-full", "wrong_answer output_limit crash", "import os\ntry: os.ftruncate(1, 1 << 60)\nexcept OSError: pass\ntry: os.ftruncate(0, 0)\nexcept OSError: pass\ndef f(x): return 0"),
    ("half-a-message", _ANY + " timeout", "import os\nos.write(4, b'\\x40\\0\\0\\0half')\ndef f(x): return 0"),
    ("huge-message", "sandbox_violation", "import os\nos.write(4, b'\\xff\\xff\\xff\\xff')\ndef f(x): return 0"),
    ("empty-messages", "sandbox_violation", "import os\nos.write(4, b'\\0' * 4096)\ndef f(x): return 0"),
]

# With the tests in one interpreter, where a determined program may find all that Python shows.
TOGETHER_CODE = """import math
def check(f):
    assert f(len, 'abc') == 3
    assert f(len, [1]) == 1
    assert all(f(abs, x) == abs(x) for x in (-1, 2))
    assert math.isclose(f(math.sqrt, 2), 2 ** .5)
"""
TOGETHER = [
    ("right", "ok", "def f(g, x): return g(x)"),
    ("right-class", "ok", "import dataclasses\n@dataclasses.dataclass\nclass Box:\n    value: object\ndef f(g, x): return Box(g(x)).value"),
    ("eq", "sandbox_violation", "class E:\n    def __eq__(s, o): return True\n    def __float__(s): return 2 ** .5\ndef f(g, x): return E()"),
    ("int-eq", "sandbox_violation", "class E(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(g, x): return E() if x != 2 else 2 ** .5"),
    ("mock-any", "sandbox_violation", "from unittest.mock import ANY\ndef f(g, x): return ANY"),
    ("forged-done", _ANY, _FIND + "import os\nfor send in found('send'):\n    send(b'done', b'1'); send(b'sealed'); os._exit(0)\ndef f(g, x): return 0"),
    ("forged-in-call", _ANY, _FIND + "import os\ndef f(g, x):\n    for send in found('send'):\n        send(b'done', b'1'); send(b'sealed'); os._exit(0)\n    return 0"),
    ("code-exchanged", _ANY, "import sys\ndef f(g, x):\n    frame = sys._getframe()\n    while frame:\n        check = frame.f_globals.get('check')\n        if check: check.__code__ = (lambda c: None).__code__\n        frame = frame.f_back\n    return 0"),
    ("harness-names", _ANY, "import sys\nframe = sys._getframe()\nwhile frame:\n    for name in ('compile', 'exec', 'compile_tests', 'tell_failure', 'call_checked', 'callables_of_modules', 'dict', 'type', 'send'):\n        frame.f_globals[name] = lambda *a, **k: None\n    frame = frame.f_back\ndef f(g, x): return 0"),
    ("cells", _ANY, _FIND + "for name in ('top_level', 'call_checked', 'tell_failure', 'find_entry'):\n    for o in found(name):\n        for cell in getattr(o, '__closure__', None) or (): cell.cell_contents = lambda *a, **k: None\n        for key in list(getattr(o, '__kwdefaults__', None) or ()): o.__kwdefaults__[key] = lambda *a, **k: None\ndef f(g, x): return 0"),
    ("jump", "sandbox_violation", "import sys\ndef tracer(frame, event, arg):\n    if event == 'line':\n        try: frame.f_lineno = 6\n        except ValueError: pass\n    return tracer\ndef f(g, x):\n    frame = sys._getframe(1)\n    while frame:\n        frame.f_trace = tracer\n        frame = frame.f_back\n    sys.settrace(tracer)\n    return 3"),
    ("module-patched", "wrong_answer", "import math\nmath.isclose = lambda *a, **k: True\ndef f(g, x): return g(x) if x != 2 else 0"),
    ("module-patched-late", "sandbox_violation wrong_answer", "import math\ndef f(g, x):\n    if g is math.sqrt: math.isclose = lambda *a, **k: True\n    return g(x) if x != 2 else 0"),
    ("builtins-patched", "wrong_answer", "import builtins\nbuiltins.all = lambda x: True\ndef f(g, x): return g(x) if g is not abs else 0"),
    ("builtins-patched-late", "sandbox_violation", "import sys\ndef f(g, x):\n    frame = sys._getframe()\n    while frame:\n        if 'check' in frame.f_globals: frame.f_globals['__builtins__']['all'] = lambda x: True\n        frame = frame.f_back\n    return g(x) if g is not abs else 0"),
    ("globals-patched", "sandbox_violation", "import sys\nclass Fake:\n    sqrt = None\n    isclose = staticmethod(lambda *a: True)\ndef f(g, x):\n    frame = sys._getframe()\n    while frame:\n        if 'check' in frame.f_globals: frame.f_globals['math'] = Fake\n        frame = frame.f_back\n    return g(x) if g else 0"),
    ("other-check", "wrong_answer", "def check(f): pass\ndef f(g, x): return 0"),
    ("assertion", "wrong_answer", "import builtins\nbuiltins.AssertionError = type('X', (Exception,), {})\nAssertionError = KeyError\ndef f(g, x): return 0"),
    ("thread", "sandbox_violation", "import os, sys, threading, time\ndef look():\n    while True:\n        for frame in sys._current_frames().values():\n            while frame: frame = frame.f_back\nthreading.Thread(target=look, daemon=True).start()\ndef f(g, x):\n    time.sleep(.1)\n    return 0"),
    ("ctypes", "sandbox_violation", "import ctypes\ndef f(g, x): return ctypes.string_at(id(f), 8)"),
    ("handler", "sandbox_violation", "import signal, sys\nsignal.signal(signal.SIGSYS, lambda *a: None)\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSYS})\nsys.settrace(lambda *a: None)\ndef f(g, x): return 0"),
    ("exit-in-eq", "early_exit", "import os\nclass E:\n    def __eq__(s, o): os._exit(0)\ndef f(g, x): return E()"),
    ("system-exit", "early_exit", "def f(g, x): raise SystemExit(0)"),
    ("forged-broken", _ANY, _FIND + "import os\nfor send in found('send'):\n    try: send(b'broken', b'x')\n    except TypeError: continue\n    os._exit(0)\ndef f(g, x): return 0"),
    ("forged-idle", _ANY, _FIND + "for send in found('send'):\n    try: send(b'idle')\n    except TypeError: continue\ndef f(g, x): return 0"),
    ("frame-eq", "wrong_answer", _CHECKS + "class E:\n    __eq__ = asked\n    def __float__(s): return 2 ** .5\ndef f(g, x): return E()"),
    ("frame-int-eq", "wrong_answer", _CHECKS + "class E(int):\n    __eq__ = asked\n    def __float__(s): return 2 ** .5\ndef f(g, x): return E()"),
    ("frame-eq-of-local-class", "wrong_answer", _CHECKS + "def f(g, x):\n    class E:\n        __eq__ = asked\n        def __float__(s): return 2 ** .5\n    return E()"),
    ("frame-eq-of-item", "wrong_answer", _CHECKS + "class E(int):\n    __eq__ = asked\ndef f(g, x): return [E()] if x == 'abc' else {1: E()}"),
    ("guess-eq", "wrong_answer", "class E(float):\n    def __eq__(s, o): return o in (1, 2, 3)\ndef f(g, x): return E(2 ** .5)"),
    ("eq-exchanged-late", "sandbox_violation wrong_answer", _CHECKS + "class E: pass\ndef f(g, x):\n    E.__eq__ = asked\n    return E() if x != 2 else 2 ** .5"),
    ("eq-by-object", "sandbox_violation", "class E:\n    def __eq__(s, o): return True\n    def __float__(s): return 2 ** .5\nclass F:\n    def __call__(s, g, x): return E()\nf = F()"),
    ("eq-by-new", "wrong_answer", "class E:\n    def __eq__(s, o): return True\n    def __float__(s): return 2 ** .5\nclass f:\n    def __new__(c, g, x): return E()"),
    ("guards-changed", _ANY, _FIND + _CHECKS + "class E:\n    __eq__ = asked\n    def __float__(s): return 2 ** .5\ndef f(g, x):\n    for name in ('compare', 'answer_for', 'watch_classes'):\n        for o in found(name):\n            o.__defaults__ = (lambda *a: True,) * 5\n    return E()"),
    ("generators-closed", _ANY, "import gc, types\ndef f(g, x):\n    for o in gc.get_objects():\n        if type(o) is types.GeneratorType: o.close()\n    return 0"),
    ("right-eq", "ok", "import dataclasses, enum, pathlib, asyncio\n@dataclasses.dataclass(order=True)\nclass B:\n    v: int\nclass V:\n    def __init__(s, v): s.v = v\n    def __eq__(s, o): return s.v == o.v\n    def __hash__(s): return hash(s.v)\nclass C(enum.IntFlag):\n    A = 1\n    B = 2\ndef f(g, x):\n    assert B(1) == B(1) < B(2) and V(3) == V(3) != V(4) and V(3) in {V(3)} and list(C.A | C.B) == [C.A, C.B]\n    assert pathlib.Path('a') == pathlib.Path('a')\n    return g(x)"),
    ("right-int", "ok", "class I(int):\n    def __eq__(s, o): return False\n    __hash__ = int.__hash__\ndef f(g, x): return I(g(x)) if x != 2 else g(x)"),
    ("right-number", "ok", "from fractions import Fraction\ndef f(g, x): return Fraction(g(x)) if x != 2 else g(x)"),
    ("returns-true", "wrong_answer", "def f(g, x): return True"),
]
