"""Small decompositions in which one program differs from another in an unusual way. Each: name, functions {name: [code]},
main, inputs (stdin texts, or argument lists where `entry` names the function that is called), and optional fields."""

HAZARDS = []


def hazard(name, functions, main="print(f())", inputs=("",), **more):
    HAZARDS.append(dict(name=name, functions=functions, main=main, inputs=list(inputs), **more))


PLAIN = "def f():\n    return 1"
G = ["def g(x):\n    return x + 1", "def g(x):\n    return x * 2"]

# Bodies that call others more often than results can be told apart.
STEPS = {"step": ["def step(x):\n    return x + 1", "def step(x):\n    return x + (1 if x < 5000 else 2)", "def step(x):\n    return 1 + x",
                  "def step(x):\n    if x == 6000:\n        raise ValueError(x)\n    return x + 1"],
         "other": ["def other(x):\n    return x", "def other(x):\n    return x if x < 8000 else x + 1"]}
hazard("thousands of calls in one body", {**STEPS, "f": [
    "def f(n):\n    x = 0\n    while x < n:\n        x = step(x)\n    return other(x)",
    "def f(n):\n    x = 0\n    for i in range(n):\n        x = other(step(x))\n    return x",
    "def f(n):\n    return sum(step(i) for i in range(n)) + other(step(n))"]}, "print(f(int(input())))", ["100", "4095", "4097", "9001"])
hazard("very many cheap calls are no time-out", {"step": ["def step(x):\n    return x + 1", "def step(x):\n    return x - 1"], "f": [
    "def f(n):\n    x = 0\n    for i in range(n):\n        x = step(x)\n    return x",
    "def f(n):\n    x = 0\n    for i in range(n):\n        x += step(i & 7)\n    return x"]}, "print(f(int(input())))", ["700000"])
hazard("large arguments again and again", {"at": ["def at(a, i):\n    return a[i % len(a)]", "def at(a, i):\n    return a[-i % len(a)]"], "f": [
    "def f(n):\n    a, t = list(range(2000)), 0\n    for i in range(n):\n        t += at(a, i)\n    return t"]}, "print(f(int(input())))", ["3000"])
hazard("endless calls of others", {"step": ["def step(x):\n    return (x + 1) % 7", "def step(x):\n    return (1 + x) % 7", "def step(x):\n    return x + 1"],
                                   "f": ["def f(n):\n    x = 0\n    while x != n:\n        x = step(x)\n    return x", "def f(n):\n    return step(n - 1)"]},
       "print(f(int(input())))", ["9"])

# Names that are put together when the program runs.
for how, code in {
        "a key of globals()": "globals()['he' + 'lp'] = lambda x: x + 100",
        "a key of globals(), in a function": "def change():\n    globals()['he' + 'lp'] = lambda x: x + 100\nchange()",
        "a key of globals(), at a call": "LATER = globals()",
        "update of globals()": "globals().update({'h%slp' % 'e': lambda x: x + 100})",
        "vars()": "v = vars()\nv[''.join(['he', 'lp'])] = lambda x: x + 100",
        "setattr of a module": "import sys\nsetattr(sys.modules[__name__], 'he' + 'lp', lambda x: x + 100)",
        "__dict__ of __main__": "import __main__\n__main__.__dict__['he' + 'lp'] = lambda x: x + 100",
        "__globals__ of a function": "def mine():\n    pass\nmine.__globals__['he' + 'lp'] = lambda x: x + 100",
        "exec": "exec('def he' + 'lp(x): return x + 100')",
        "exec of a builtin": "exec('l' + 'en = lambda x: 7')",
        "setattr of builtins": "import builtins\nsetattr(builtins, 'le' + 'n', lambda x: 7)",
        "a builtin by its module's dict": "__builtins__.__dict__['le' + 'n'] = lambda x: 7"}.items():
    body = "    LATER['he' + 'lp'] = lambda x: x + 100\n" if "call" in how else ""
    hazard("run-time name: " + how, {"f": ["def f(x):\n    return help(x) + len('ab')", "def f(x):\n    return x"],
                                     "help": ["def help(x):\n    return x * 2", "def help(x):\n    return x - 1"],
                                     "g": [code + "\ndef g(x):\n" + body + "    return x", "def g(x):\n    return x + 3"]},
           "x = int(input())\nprint(g(f(x)), f(g(x)))", ["4", "0"])

# Names that one source brings and another uses.
hazard("import of another", {"f": ["import math\ndef f():\n    return 3", "def f():\n    return 4"],
                             "g": ["def g(x):\n    return math.floor(x + 0.5)", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("helper of another", {"f": ["def helper(x):\n    return x * 3\ndef f():\n    return 3", PLAIN],
                             "g": ["def g(x):\n    return helper(x)", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("constant of another", {"f": ["N = 5\ndef f():\n    return N", "N = 7\ndef f():\n    return 2"],
                               "g": ["def g(x):\n    return x + N", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("same helper, last wins", {"f": ["def h():\n    return 1\ndef f():\n    return h()", "def f():\n    return 5"],
                                  "g": ["def h():\n    return 2\ndef g(x):\n    return x + h()", "def g(x):\n    return x"]},
       "print(g(f()))")
hazard("same constant, different values", {"f": ["M = 10\ndef f():\n    return M", "def f():\n    return 10"],
                                           "g": ["M = 7\ndef g(x):\n    return x % M", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("same constant, same value", {"f": ["M = 10\ndef f():\n    return M", "def f():\n    return 3"],
                                     "g": ["M = 10\ndef g(x):\n    return x % M", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("builtin redefined for all", {"f": ["import sys\ninput = sys.stdin.readline\ndef f():\n    return input()", "def f():\n    return input()"],
                                     "g": ["def g(x):\n    return repr(x) + repr(input())", "def g(x):\n    return x"]},
       "print(g(f()))", ["ab\ncd\n", "x\n"])
hazard("builtin replaced by a function", {"f": ["def sum(xs):\n    return 42\ndef f():\n    return 1", PLAIN],
                                          "g": ["def g(x):\n    return sum([x, x])", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("defines another's function", {"f": ["def g(x):\n    return -1\ndef f():\n    return 1", PLAIN], "g": G}, "print(g(f()))")
hazard("defines an earlier function anew", {"f": [PLAIN, "def f():\n    return 2"],
                                            "g": ["def f():\n    return 9\ndef g(x):\n    return x", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("wrong name", {"f": [PLAIN, "def ff():\n    return 1"], "g": G}, "print(g(f()))")
hazard("defined twice in one source", {"f": [PLAIN, "def f():\n    return 2\ndef f():\n    return 3"], "g": G}, "print(g(f()))")
hazard("a lambda for a function", {"f": ["f = lambda: 1", PLAIN], "g": G}, "print(g(f()))")
hazard("names of main", {"f": ["def f():\n    return total", PLAIN], "g": G}, "total = 4\nprint(g(f()))")
hazard("annotation without its import", {"f": ["def f() -> List[int]:\n    return 1", "from typing import List\ndef f() -> List[int]:\n    return 1"],
                                         "g": ["from typing import List\ndef g(x: List) -> int:\n    return x", "def g(x: List):\n    return x"]},
       "print(g(f()))")
# Texts that do not compile, alone or together.
hazard("syntax error", {"f": [PLAIN, "def f(:\n    return 1", "def f():\nreturn 1"], "g": G}, "print(g(f()))")
hazard("return outside a function", {"f": [PLAIN, "def f():\n    return 1\nreturn"], "g": G}, "print(g(f()))")
hazard("late future import", {"f": [PLAIN, "from __future__ import annotations\ndef f() -> X:\n    return 1"],
                              "g": ["from __future__ import annotations\ndef g(x: Y):\n    return x", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("open string", {"f": [PLAIN, "def f():\n    return 1\nx = '''"], "g": ["def g(x):\n    return x", "y = 1 '''\ndef g(x):\n    return x", "'''\ndef g(x):\n    return x"]},
       "print(g(f()))")
hazard("else of another", {"f": ["def f():\n    return 1\nif False:\n    pass", PLAIN], "g": ["else:\n    x = 1\ndef g(x):\n    return x", "def g(x):\n    return x"]},
       "print(g(f()))")
hazard("decorator at the end", {"f": ["def f():\n    return 1\n@abs", PLAIN], "g": G}, "print(g(f()))")
hazard("a line that goes on", {"f": ["def f():\n    return 1\nx = 1 + \\", PLAIN], "g": G}, "print(g(f()))")
hazard("global at the top level", {"f": ["x = 1\ndef f():\n    return x", PLAIN], "g": ["global x\ndef g(y):\n    return y", "def g(y):\n    return y"]},
       "print(g(f()))")
hazard("coding line", {"f": ["# -*- coding: latin-1 -*-\ndef f():\n    return len('\u00e9')", "def f():\n    return len('\u00e9')"],
                       "g": ["def g(x):\n    return x + len('\u00fc')", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("deep parentheses", {"f": [PLAIN, "def f():\n    return " + "(" * 150 + "1" + ")" * 150], "g": G}, "print(g(f()))")
# Ends of a program.
hazard("exits", {"f": ["import sys\ndef f():\n    print(1)\n    sys.exit(0)", "import sys\ndef f():\n    print(1)\n    sys.exit(3)",
                       "import sys\ndef f():\n    print(1)\n    sys.exit('no')", "def f():\n    print(1)\n    exit()",
                       "def f():\n    print(1)\n    raise SystemExit(256)", "import sys\ndef f():\n    print(1)\n    sys.exit(None)"],
                 "g": ["def g():\n    f()", "def g():\n    try:\n        f()\n    except SystemExit:\n        print('caught')"]}, "g()")
hazard("os._exit loses the buffer", {"f": ["import os\ndef f():\n    print(1)\n    os._exit(0)", "import os\ndef f():\n    print(1, flush=True)\n    os._exit(0)",
                                           "def f():\n    print(1)"]}, "f()")
hazard("atexit", {"f": ["import atexit\ndef f():\n    atexit.register(print, 'bye')\n    return 1", PLAIN], "g": G}, "print(g(f()))")
hazard("threads", {"f": ["import threading, time\ndef f():\n    def late():\n        time.sleep(0.05)\n        print('late')\n    threading.Thread(target=late).start()\n    return 1",
                         "import threading, time\ndef f():\n    def late():\n        time.sleep(0.5)\n        print('late')\n    threading.Thread(target=late, daemon=True).start()\n    return 1",
                         PLAIN], "g": G}, "print(g(f()))")
hazard("finaliser", {"f": ["class A:\n    def __del__(self):\n        print('gone')\nkeep = A()\ndef f():\n    return 1", PLAIN], "g": G}, "print(g(f()))")
hazard("exception in a finaliser's generator", {"f": ["def gen():\n    try:\n        yield 1\n    finally:\n        print('end')\nit = None\ndef f():\n    global it\n    it = gen()\n    return next(it)", PLAIN]})
hazard("killed by itself", {"f": ["import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGKILL)", PLAIN], "g": G}, "print(g(f()))")
hazard("abort", {"f": ["import os\ndef f():\n    print(1, flush=True)\n    os.abort()", PLAIN]})
hazard("closed stdout", {"f": ["import sys\ndef f():\n    print('a')\n    sys.stdout.close()", "import sys\ndef f():\n    sys.stdout = None\n    return 5", PLAIN]}, "print(f())")
hazard("excepthook", {"f": ["import sys\ndef f():\n    sys.excepthook = lambda *a: print('hook')\n    return 0", "def f():\n    return 0", PLAIN]}, "print(1 // f())")
hazard("main guard", {"f": [PLAIN, "def f():\n    return __name__", "def f():\n    return 3\nif __name__ == '__main__':\n    print('early')"], "g": G},
       "if __name__ == '__main__':\n    print(g(f()))")
hazard("child processes", {"f": ["import os\ndef f():\n    pid = os.fork()\n    if pid == 0:\n        os._exit(0)\n    os.wait()\n    return 1", PLAIN]})
# Limits.
hazard("loops", {"f": [PLAIN, "def f():\n    while True:\n        pass", "def f():\n    while True:\n        try:\n            while True:\n                pass\n        except Exception:\n            pass"],
                 "g": ["def g(x):\n    return x"]}, "print(g(f()))")
hazard("a loop in C", {"f": [PLAIN, "def f():\n    return sum(range(10 ** 12))"], "g": G}, "print(g(f()))")
hazard("a loop that catches all", {"f": [PLAIN, "def f():\n    while True:\n        try:\n            while True:\n                pass\n        except:\n            pass"]})
hazard("output without end", {"f": [PLAIN, "def f():\n    while True:\n        print('x' * 1000)", "def f():\n    print('y' * 3000000)\n    return 1",
                                    "def f():\n    try:\n        print('y' * 3000000)\n        raise ValueError\n    except OSError:\n        pass\n    return 1"], "g": G}, "print(g(f()))")
hazard("output near the limit", {"f": ["def f():\n    print('x' * (1024 * 1024 - 10))\n    return 1", "def f():\n    print('x' * (1024 * 1024 + 10))\n    return 1"]})
hazard("memory", {"f": [PLAIN, "def f():\n    x = [0] * (400 * 1000 * 1000)\n    return 1",
                        "def f():\n    try:\n        x = [0] * (400 * 1000 * 1000)\n    except MemoryError:\n        return 1\n    return 2"], "g": G}, "print(g(f()))")
hazard("recursion", {"f": ["def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)", "def h(n):\n    return 0 if n == 0 else 1 + h(n - 1)\ndef f(n):\n    return h(n)",
                           "def f(n):\n    return n"]}, "print(f(int(input())))", ["10", "300", "900", "990", "993", "995", "996", "997", "998", "1000", "1500"])
hazard("recursion that is caught", {"f": ["def f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n        return n > 500", "def f(n):\n    return True"]}, "print(f(0))")
hazard("recursion limit raised", {"f": ["import sys\ndef f(n):\n    sys.setrecursionlimit(10000)\n    def h(n):\n        return 0 if n == 0 else 1 + h(n - 1)\n    return h(n)",
                                        "def f(n):\n    return n"], "g": ["def g(n):\n    return 0 if n == 0 else 1 + g(n - 1)", "def g(n):\n    return n"]},
       "n = int(input())\nprint(f(n), g(n))", ["500", "2000"])
hazard("mutual recursion", {"f": ["def f(n):\n    return n == 0 or g(n - 1)", "def f(n):\n    return n % 2 == 0"],
                            "g": ["def g(n):\n    return n != 0 and f(n - 1)", "def g(n):\n    return n % 2 == 1"]}, "print(f(int(input())))", ["7", "400", "1200"])
# State.
hazard("aliased result", {"f": ["def f(xs):\n    return xs", "def f(xs):\n    return list(xs)"], "g": ["def g(xs):\n    xs.append(4)\n    return xs", "def g(xs):\n    return xs + [4]"]},
       "a = [1]\nb = f(a)\nc = g(b)\nprint(a, b, c)")
hazard("changed arguments", {"f": ["def f(xs):\n    xs.sort()\n    return xs[0]", "def f(xs):\n    return min(xs)"],
                             "g": ["def g(xs):\n    return xs.pop()", "def g(xs):\n    return xs[-1]"]}, "a = [3, 1, 2]\nprint(f(a), g(a), a)")
hazard("the same list twice", {"f": ["def f(n):\n    return [[0] * n] * n", "def f(n):\n    return [[0] * n for _ in range(n)]"],
                               "g": ["def g(m):\n    m[0][0] = 1\n    return m", "def g(m):\n    return m"]}, "print(g(f(3)))")
hazard("a global counter", {"f": ["n = 0\ndef f():\n    global n\n    n += 1\n    return n", "def f():\n    return 1"], "g": ["def g():\n    return f() + f()", "def g():\n    return f()"]},
       "print(g(), f())")
hazard("a mutable default", {"f": ["def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)", "def f(x):\n    return 1"]}, "print(f(1), f(1), f(2))")
hazard("a function's attribute", {"f": ["def f():\n    f.n = getattr(f, 'n', 0) + 1\n    return f.n", "def f():\n    return 1"]}, "print(f(), f())")
hazard("a cache", {"f": ["from functools import lru_cache\n@lru_cache(None)\ndef f(n):\n    return [n]", "def f(n):\n    return [n]"]}, "f(1).append(2)\nprint(f(1))")
hazard("a list at the top level", {"f": ["seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)", "def f(x):\n    return x"]}, "print(f(1), f(1))")
hazard("a table that is only read", {"f": ["D = [(0, 1), (1, 0)]\ndef f(x):\n    return [x + a for a, b in D]", "def f(x):\n    return [x, x + 1]"], "g": G[:1]}, "print(f(1), g(1))")
hazard("a class with state", {"f": ["class C:\n    n = 0\n    def up(self):\n        C.n += 1\n        return C.n\ndef f():\n    return C().up()", PLAIN]}, "print(f(), f())")
hazard("a class of its own", {"f": ["class P:\n    def __init__(self, x):\n        self.x = x\ndef f(x):\n    return P(x)", "class P:\n    def __init__(self, x):\n        self.x = -x\ndef f(x):\n    return P(x)"],
                              "g": ["def g(p):\n    return p.x", "def g(p):\n    p.x += 1\n    return p.x"]}, "p = f(3)\nprint(g(p), g(p))")
hazard("generators", {"f": ["def f():\n    for i in range(3):\n        yield i", "def f():\n    return [0, 1, 2]", "def f():\n    return iter([0, 1, 2])"],
                      "g": ["def g(xs):\n    return list(xs)", "def g(xs):\n    return sum(xs)"]}, "x = f()\nprint(g(x), g(x))")
hazard("closures", {"f": ["def f():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up", "def f():\n    return lambda: 1"],
                    "g": ["def g(u):\n    return u() + u()", "def g(u):\n    return u()"]}, "u = f()\nprint(g(u), u())")
hazard("functions as values", {"f": ["def f(x):\n    return -x", "def f(x):\n    return x % 3"], "g": ["def g(xs):\n    return sorted(xs, key=f)", "def g(xs):\n    return list(map(f, xs))"]},
       "print(g([3, 1, 2]), max([1, 2, 3], key=f))")
hazard("sets", {"f": ["def f(ws):\n    return set(ws)", "def f(ws):\n    s = set()\n    for w in ws:\n        s.add(w)\n    s.discard('zz')\n    return s", "def f(ws):\n    return sorted(set(ws))"],
                "g": ["def g(s):\n    return ' '.join(s)", "def g(s):\n    return ' '.join(sorted(s))"]}, "print(g(f(input().split())))", ["a b c d e f g h zz i j", "x y", "k k k"])
hazard("sets of numbers that collide", {"f": ["def f():\n    s = {1 << 61, 5, 5 + 8, 5 + 16}\n    s.add(2)\n    s.remove(5)\n    return s", "def f():\n    return {13, 2, 21, 1 << 61}"],
                                        "g": ["def g(s):\n    return list(s)", "def g(s):\n    s.add(5)\n    return list(s)"]}, "s = f()\nprint(g(s), list(s))")
hazard("order of a dict", {"f": ["def f():\n    return {'b': 1, 'a': 2}", "def f():\n    return {'a': 2, 'b': 1}"], "g": ["def g(d):\n    return list(d)", "def g(d):\n    return sorted(d)"]}, "print(g(f()))")
hazard("types that look equal", {"f": ["def f():\n    return 1", "def f():\n    return 1.0", "def f():\n    return True"], "g": ["def g(x):\n    return repr(x)", "def g(x):\n    return x"]},
       "print(g(f()), g(f()) == 1)", compare="exact")
hazard("nan and zeros", {"f": ["def f():\n    return [float('nan')]", "def f():\n    return [-0.0]", "def f():\n    return [0.0]"], "g": ["def g(x):\n    return x == x", "def g(x):\n    return str(x[0])"]},
       "x = f()\nprint(g(x), x[0] in x, x == [0])")
hazard("large numbers", {"f": ["def f():\n    return 2 ** 200", "def f():\n    return -(2 ** 63)", "def f():\n    return 2 ** 63"], "g": G}, "print(g(f()))")
hazard("identity", {"f": ["def f():\n    return 1000", "def f():\n    return int('1000')"], "g": ["def g(x):\n    return x is x", "A = [1]\ndef g(x):\n    return A is A"]}, "x = f()\nprint(g(x), x is f() or True)")
hazard("exceptions of their own", {"f": ["class Bad(Exception):\n    pass\ndef f(x):\n    raise Bad(x)", "def f(x):\n    raise ValueError(x)", "def f(x):\n    return x"],
                                   "g": ["def g(x):\n    try:\n        return f(x)\n    except ValueError as e:\n        return e.args", "def g(x):\n    try:\n        return f(x)\n    except Exception as e:\n        return type(e).__name__ + str(e)",
                                         "def g(x):\n    return f(x)"]}, "print(g(7))")
hazard("bare except around all", {"f": ["def f():\n    raise KeyError('k')", "def f():\n    raise SystemExit(2)", PLAIN], "g": ["def g():\n    try:\n        return f()\n    except:\n        return 'x'", "def g():\n    return f()"]}, "print(g())")
hazard("errors in arguments", {"f": ["def f(x):\n    return x", "def f():\n    return 1"], "g": ["def g(x, y):\n    return x", "def g(x):\n    return x"]}, "print(f(g(1)), g(1))")
hazard("keyword arguments", {"f": ["def f(a, b=2):\n    return a - b", "def f(a, b=3):\n    return a + b", "def f(b, a=0):\n    return a - b"]}, "print(f(1), f(a=1, b=5), f(b=1, a=2), f(1, b=4))")
# Input and output.
hazard("reading by turns", {"f": ["def f():\n    return input()", "import sys\ndef f():\n    return sys.stdin.readline()", "import sys\ndef f():\n    return sys.stdin.read()"],
                            "g": ["def g():\n    return input()", "import sys\ndef g():\n    return sys.stdin.read()", "import sys\ndef g():\n    return list(sys.stdin)"]},
       "print(repr(f()))\nprint(repr(g()))", ["a\nb\nc\n", "a\n", "", "a\nb"])
hazard("more reading", {"f": ["import sys\ndef f():\n    return sys.stdin.read(3)", "import sys\ndef f():\n    return next(sys.stdin)", "import sys\ndef f():\n    return sys.stdin.readlines()"],
                        "g": ["import sys\ndef g():\n    return [line.strip() for line in sys.stdin]", "import sys\ndef g():\n    return sys.stdin.readline(2)"]},
       "print(repr(f()))\nprint(repr(g()))", ["ab\r\ncd\ref\n", "one line"])
hazard("bytes", {"f": ["import sys\ndef f():\n    return sys.stdin.buffer.readline()", "import sys\ndef f():\n    return sys.stdin.buffer.read()"],
                 "g": ["import sys\ndef g():\n    return sys.stdin.buffer.read().split()", "import sys\ndef g():\n    return list(sys.stdin.buffer)"]}, "print(f())\nprint(g())", ["a b\r\nc\n", ""])
hazard("bytes and text", {"f": ["import sys\ndef f():\n    return sys.stdin.buffer.readline()", "def f():\n    return input()"],
                          "g": ["import sys\ndef g():\n    return sys.stdin.read()", "import sys\ndef g():\n    return sys.stdin.buffer.read()"]}, "print(f())\nprint(g())", ["a\nb\n"])
hazard("real descriptors", {"f": ["import os\ndef f():\n    return os.read(0, 100)", "def f():\n    return open(0).read().encode()", "def f():\n    return open('/dev/stdin').read().encode()",
                                  "def f():\n    return input().encode()"], "g": ["def g(x):\n    return x", "import os\ndef g(x):\n    os.write(1, b'raw\\n')\n    return x"]}, "print('first')\nprint(g(f()))", ["q\nr\n"])
hazard("seek in stdin", {"f": ["import sys\ndef f():\n    a = sys.stdin.readline()\n    sys.stdin.seek(0)\n    return a", "def f():\n    return input()"], "g": ["def g():\n    return input()", "def g():\n    return 1"]}, "print(f(), g())", ["a\nb\n"])
hazard("printing in functions", {"f": ["def f(x):\n    print('f', x)\n    return x", "def f(x):\n    print('f', x, end='')\n    return x"], "g": ["def g(x):\n    print(f(x))\n    return f(x + 1)", "def g(x):\n    return x"]}, "print(g(1), f(2))", compare="exact")
hazard("print to stderr", {"f": ["import sys\ndef f():\n    print('e', file=sys.stderr)\n    return 1", "import sys\ndef f():\n    sys.stdout.write('o\\n')\n    return 1", "import sys\ndef f():\n    sys.stdout.writelines(['o', '\\n'])\n    return 1"]})
hazard("stdout replaced", {"f": ["import sys, io\ndef f():\n    sys.stdout = io.StringIO()\n    return 1", PLAIN], "g": ["def g(x):\n    print('seen')\n    return x", "def g(x):\n    return x"]}, "print(g(f()))\nprint('end')")
hazard("print redefined", {"f": ["import builtins\ndef f():\n    builtins.print = lambda *a: None\n    return 1", PLAIN], "g": G}, "print(g(f()))")
hazard("a module that is changed", {"f": ["import math\ndef f():\n    math.floor = lambda x: 99\n    return 1", PLAIN], "g": ["import math\ndef g(x):\n    return math.floor(x + 0.5)", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("odd characters", {"f": ["def f():\n    return '\u00e9\U0001f600'", "def f():\n    return '\\ud800'"], "g": ["def g(s):\n    return s", "def g(s):\n    return len(s)"]}, "print(g(f()))")
hazard("eval and globals", {"f": ["def f():\n    return eval('g(2)')", "def f():\n    return globals()['g'](2)", "def f():\n    return g(2)"], "g": G}, "print(f(), sorted(n for n in dir() if n in 'fg'))")
hazard("hash and chance", {"f": ["def f():\n    return hash('a') % 1000", "import random\ndef f():\n    random.seed(5)\n    return random.randrange(1000)", PLAIN], "g": G}, "print(g(f()))")
hazard("inspects itself", {"f": ["import sys\ndef f():\n    return sys._getframe().f_lineno", "import sys\n\n\ndef f():\n    return sys._getframe().f_lineno"], "g": ["\n\ndef g(x):\n    return x", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("arguments and files", {"f": ["import sys\ndef f():\n    return len(sys.argv)", "import os\ndef f():\n    with open('x.txt', 'w') as h:\n        h.write('1')\n    return os.listdir('.').count('x.txt')", "import os\ndef f():\n    return os.path.exists('x.txt')"]})
hazard("asyncio", {"f": ["import asyncio\nasync def h():\n    await asyncio.sleep(0)\n    return 1\ndef f():\n    return asyncio.run(h())", PLAIN], "g": G[:1]}, "print(g(f()))")
hazard("dataclasses", {"f": ["from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f():\n    return P(2)", "from collections import namedtuple\nP = namedtuple('P', 'x')\ndef f():\n    return P(2)"], "g": ["def g(p):\n    return p.x", "def g(p):\n    return str(p)"]}, "print(g(f()))")
hazard("star import", {"f": ["from math import *\ndef f():\n    return floor(2.5)", PLAIN], "g": ["def g(x):\n    return gcd(x, 4)", "def g(x):\n    return x"]}, "print(g(f()))")
hazard("work at the top level", {"f": ["T = [i * i for i in range(5)]\ndef f():\n    return T[2]", "print('top')\ndef f():\n    return 4"], "g": G}, "print(g(f()))")
hazard("reading at the top level", {"f": ["n = int(input())\ndef f():\n    return n", "def f():\n    return int(input())"], "g": G}, "print(g(f()))", ["3\n"])
hazard("preamble", {"f": ["def f():\n    return helper(2)", "def f():\n    return K"], "g": ["def g(x):\n    return math.gcd(x, K)", "def g(x):\n    return x"]}, "print(g(f()))", preamble="import math\nK = 6\ndef helper(x):\n    return g(x) if x > 5 else x * 3")
hazard("a preamble with state", {"f": ["def f():\n    LOG.append(1)\n    return len(LOG)", PLAIN], "g": ["def g(x):\n    return x + len(LOG)", "def g(x):\n    return x"]}, "print(g(f()), f())", preamble="LOG = []")
hazard("nothing is called", {"f": [PLAIN, "def f():\n    raise ValueError"], "g": G}, "print(7)")
hazard("called by chance of the input", {"f": [PLAIN, "def f():\n    return 2", "def f():\n    raise ValueError"], "g": G}, "x = int(input())\nprint(g(x) if x > 1 else f())", ["1", "2", "5"])
hazard("many calls", {"f": ["def f(i):\n    return i % 7", "def f(i):\n    return i % 7 if i != 50 else 9", "def f(i):\n    return i % 5"], "g": ["def g(xs):\n    return sum(xs)", "def g(xs):\n    return xs.count(0)"]},
       "print(g([f(i) for i in range(100)]))")
hazard("duplicates", {"f": [PLAIN, "def f():\n    return 1", "def f():\n    # a comment\n    return 1", "def f():\n    return 2"], "g": [G[0], G[0], G[1]]}, "print(g(f()))")
# Calls.
hazard("a call", {"f": ["def f(xs):\n    return sorted(xs)", "def f(xs):\n    xs.sort()\n    return xs", "def f(xs):\n    return tuple(sorted(xs))", "def f(xs):\n    return set(xs)"],
                  "solve": ["def solve(xs, k=1):\n    return f(xs)[:k]", "def solve(xs, k=1):\n    return [x for x in f(xs)][:k]"]}, "", [[[3, 1, 2]], [[5, 4], 2], [[]]], entry="solve")
hazard("a call that leaves", {"solve": ["def solve(x):\n    return x", "import sys\ndef solve(x):\n    sys.exit(0)", "import os\ndef solve(x):\n    os._exit(0)", "def solve(x):\n    print(x)",
                                        "class E:\n    def __eq__(self, o):\n        return True\ndef solve(x):\n    return E()", "def solve(x):\n    return True if x == 1 else x",
                                        "def solve(x):\n    raise ValueError"]}, "", [[1], ["1"], [None], [{"a": [1, 2.5]}]], entry="solve")
hazard("a call of a method", {"Solution": ["class Solution:\n    def solve(self, x):\n        return x + 1", "class Solution:\n    def solve(self, x):\n        return x", "class Solution:\n    n = 0\n    def solve(self, x):\n        Solution.n += 1\n        return x + Solution.n"]},
       "", [[1], [2]], entry="solve")

# Implementations of f that attack: what they themselves get does not matter, but programs without them pass.
HOSTILE = [
    "import os, signal\ndef f():\n    os.kill(os.getppid(), signal.SIGKILL)\n    return 1",
    "import os\ndef f():\n    os.kill(-1, 9)\n    return 1",
    "import os\ndef f():\n    for fd in range(256):\n        try:\n            os.write(fd, b'\\0' * 64)\n        except OSError:\n            pass\n    return 1",
    "import os\ndef f():\n    for fd in range(256):\n        try:\n            os.ftruncate(fd, 0)\n            os.lseek(fd, 5, 0)\n        except OSError:\n            pass\n    return 1",
    "import os\ndef f():\n    while True:\n        try:\n            os.fork()\n        except OSError:\n            pass",
    "import os\ndef f():\n    if os.fork() == 0:\n        os.setsid()\n        while True:\n            pass\n    return 1",
    "import ctypes\ndef f():\n    ctypes.string_at(0)",
    "import os\ndef f():\n    with open('/proc/1/mem', 'rb') as m:\n        return m.read(1)",
    "import os\ndef f():\n    open('/tmp/prog.py', 'w').write('print(1)')\n    os.mkdir('/tmp/d')\n    os.chmod('/tmp/d', 0)\n    return 1",
    "import builtins, sys\ndef f():\n    builtins.int = lambda x: 7\n    sys.modules.clear()\n    return 1",
    "def f():\n    return ().__class__.__base__.__subclasses__()",
    "def f():\n    return (lambda: 0).__globals__['g']",
    "def f():\n    try:\n        raise ValueError\n    except ValueError as e:\n        e.__traceback__.tb_frame.f_back.f_globals.clear()\n    return 1",
    "import gc\ndef f():\n    for o in gc.get_objects():\n        if isinstance(o, dict):\n            o.clear()\n    return 1",
    "import sys\ndef f():\n    sys.setrecursionlimit(1 << 30)\n    def h():\n        return h()\n    return h()",
    "import signal\ndef f():\n    for n in range(1, 60):\n        try:\n            signal.signal(n, signal.SIG_IGN)\n        except (OSError, ValueError):\n            pass\n    while True:\n        pass",
]
