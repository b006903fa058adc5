#!/usr/bin/env python3
"""leap-verify against right, wrong and hostile programs: every verdict as it must be, the same at -j1 and -j4.

Each row of a table is (name, statuses that are right, program); rows share the task that stands above them. The hostile
ones run without namespaces too. Afterwards no process, file or shared memory may be left.
"""
import concurrent.futures
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from leftovers import Watch  # noqa: E402
from python_cheats import APART, TOGETHER, TOGETHER_CODE  # noqa: E402
from sandbox_here import flags_here  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
LIMITS = {"cpu_s": 0.6, "wall_s": 6, "memory_mb": 256, "output_kb": 256}
SECRET = "918273645"
ROWS = []  # (id, task, statuses, turn)


def rows(group, task, *entries):
    task = {"limits": LIMITS, **task}
    for name, statuses, code in entries:
        turn = code if isinstance(code, dict) else {"code": code}
        ROWS.append((f"{group}/{name}", task, statuses.split(), turn))


def stdio(*cases, language="python", **more):
    made = [{"stdin": i, "stdout": o, **({"public": True} if k == 0 else {})} for k, (i, o) in enumerate(cases)]
    return {"language": language, "check": {"type": "stdio", "cases": made, **more}}


def call(entry, *cases, language="python", **more):
    made = [{"args": a, "expect": e, **({"public": True} if k == 0 else {})} for k, (a, e) in enumerate(cases)]
    return {"language": language, "entry_point": entry, "check": {"type": "call", "cases": made, **more}}


def script(entry, code, function="", language="python", starter=None, **more):
    task = {"language": language, "entry_point": entry, "check": {"type": "script", "code": code, **more}}
    if function:
        task["check"]["call"] = function
    if starter is not None:
        task["starter"] = starter
    return task


ADD = stdio(("1 2\n", "3\n"), ("11 %s\n" % SECRET, "%d\n" % (11 + int(SECRET))))
READ = "a, b = map(int, input().split())\n"

rows("python-right", ADD,
     ("input", "ok", READ + "print(a + b)"),
     ("buffer", "ok", "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))"),
     ("open-0", "ok", "print(sum(map(int, open(0).read().split())))"),
     ("os-read", "ok", "import os\nos.write(1, b'%d' % sum(map(int, os.read(0, 1 << 16).split())))"),
     ("fileinput", "ok", "import fileinput\nfor line in fileinput.input(): print(sum(map(int, line.split())))"),
     ("iter-stdin", "ok", "import sys\nfor line in sys.stdin: print(sum(map(int, line.split())))"),
     ("readinto", "ok", "import sys\nb = bytearray(99)\nn = sys.stdin.buffer.readinto(b)\nprint(sum(map(int, b[:n].split())))"),
     ("peek", "ok", "import sys\nsys.stdin.buffer.peek(1)\nprint(sum(map(int, sys.stdin.read().split())))"),
     ("mmap-stdin", "ok", "import mmap\nm = mmap.mmap(0, 0, prot=mmap.PROT_READ)\nprint(sum(map(int, m[:].split())))"),
     ("seek-stdin", "ok", "import sys\ns = sys.stdin.read()\nsys.stdin.seek(0)\nprint(sum(map(int, sys.stdin.read().split())))"),
     ("bytesio", "ok", "import sys, io, os\ninput = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\nprint(sum(map(int, input().split())))"),
     ("fstat-buffer", "ok", "import os, sys\nclass F:\n    def __init__(s): s.f = sys.stdin.fileno()\n    def r(s): return os.read(s.f, max(os.fstat(s.f).st_size, 8192))\nprint(sum(map(int, F().r().split())))"),
     ("main-guard", "ok", "def main():\n    " + READ + "    print(a + b)\nif __name__ == '__main__':\n    main()"),
     ("exit-0", "ok", READ + "print(a + b)\nimport sys\nsys.exit(0)"),
     ("exit-none", "ok", READ + "print(a + b)\nimport sys\nsys.exit()"),
     ("quit", "ok", READ + "print(a + b)\nquit()"),
     ("raise-exit", "ok", READ + "print(a + b)\nraise SystemExit"),
     ("os-exit-flushed", "ok", READ + "print(a + b, flush=True)\nimport os\nos._exit(0)"),
     ("exit-in-thread", "ok", READ + "import threading, sys\nt = threading.Thread(target=sys.exit)\nt.start(); t.join()\nprint(a + b)"),
     ("thread", "ok", "import threading, sys\nsys.setrecursionlimit(1 << 20)\nthreading.stack_size(128 << 20)\n"
      "def main():\n    def f(n): return 0 if n == 0 else f(n - 1)\n    f(100000)\n    " + READ + "    print(a + b)\n"
      "t = threading.Thread(target=main)\nt.start()\nt.join()"),
     ("deep", "ok", "import sys\nsys.setrecursionlimit(10 ** 7)\ndef f(n): return 0 if n == 0 else f(n - 1)\nf(100000)\n" + READ + "print(a + b)"),
     ("daemon-thread", "ok", "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n" + READ + "print(a + b)"),
     ("atexit", "ok", "import atexit\n" + READ + "atexit.register(print, a + b)"),
     ("pool", "ok", "from concurrent.futures import ThreadPoolExecutor\n" + READ + "with ThreadPoolExecutor(4) as p: print(list(p.map(sum, [(a, b)]))[0])"),
     ("process-pool", "ok", "import os\n" + READ + "r, w = os.pipe()\nif os.fork() == 0:\n    os.write(w, b'%d' % (a + b)); os._exit(0)\nos.wait()\nprint(os.read(r, 99).decode())"),
     ("crlf-output", "ok", "import sys\n" + READ + "sys.stdout.write('%d\\r\\n' % (a + b))"),
     ("no-newline", "ok", READ + "print(a + b, end='')"),
     ("decimal", "ok", READ + "print('%.3f' % (a + b))"),
     ("stderr", "ok", "import sys\n" + READ + "print('x' * 100000, file=sys.stderr)\nprint(a + b)"),
     ("stdout-replaced", "ok", "import sys, io\nsys.stdout = io.StringIO()\n" + READ + "print(a + b)\ns = sys.stdout.getvalue()\nsys.stdout = sys.__stdout__\nprint(s)"),
     ("stdout-wrapped", "ok", "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, write_through=True)\n" + READ + "print(a + b)"),
     ("future", "ok", "from __future__ import annotations\n" + READ + "def f(x: nope) -> int: return x\nprint(f(a + b))"),
     ("dataclass", "ok", "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\n" + READ + "p = P(a, b)\nprint(p.a + p.b)"),
     ("pickle", "ok", "import pickle\nclass P: pass\np = P(); p.x = list(map(int, input().split()))\nprint(sum(pickle.loads(pickle.dumps(p)).x))"),
     ("typing-hints", "ok", "import typing\ndef f(x: 'int') -> 'int': return x\ntyping.get_type_hints(f)\n" + READ + "print(f(a + b))"),
     ("lru-cache", "ok", "from functools import lru_cache\n@lru_cache(None)\ndef f(a, b): return a + b\n" + READ + "print(f(a, b))"),
     ("write-file", "ok", READ + "with open('x.txt', 'w') as f: f.write(str(a + b))\nprint(open('x.txt').read())"),
     ("temp-file", "ok", "import tempfile\n" + READ + "f = tempfile.TemporaryFile('w+')\nf.write(str(a + b)); f.seek(0)\nprint(f.read())"),
     ("signal", "ok", "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.alarm(5)\n" + READ + "print(a + b)"),
     ("eof", "ok", READ + "try:\n    input()\nexcept EOFError:\n    print(a + b)"),
     ("bom-source", "ok", "\ufeff" + READ + "print(a + b)"),
     ("crlf-source", "ok", (READ + "if a:\n    print(a + b)\n").replace("\n", "\r\n")),
     ("coding-line", "ok", "# -*- coding: utf-8 -*-\n" + READ + "é = a + b\nprint(é)"),
     ("tabs", "ok", READ + "if True:\n\tprint(a + b)"),
     ("int-limit", "ok", "import sys\nsys.set_int_max_str_digits(0)\nx = str(10 ** 5000)\n" + READ + "print(a + b)"),
     ("excepthook", "ok", "import sys\nsys.excepthook = lambda *a: None\n" + READ + "print(a + b)"),
     ("gc-random", "ok", "import gc, random\ngc.collect()\nrandom.seed(1)\n" + READ + "print(a + b)"),
     ("weird-builtins", "ok", "import builtins\nbuiltins.print, p = None, print\n" + READ + "p(a + b)"),
     ("sys-modules-cleared", "ok", "import sys\n" + READ + "print(a + b, flush=True)\nsys.modules.clear()"),
     ("stdin-closed", "ok", READ + "import sys\nsys.stdin.close()\nprint(a + b)"),
     ("stdout-flush-closed", "ok", READ + "import sys\nprint(a + b)\nsys.stdout.close()"))

rows("python-wrong", ADD,
     ("minus", "wrong_answer", READ + "print(a - b)"),
     ("constant", "wrong_answer", "print(3)"),
     ("extra", "wrong_answer", READ + "print(a + b, 0)"),
     ("prompt", "wrong_answer", "a, b = map(int, input('numbers: ').split())\nprint(a + b)"),
     ("nothing", "no_output", READ),
     ("blank", "no_output", "print()"),
     ("empty", "no_code", ""),
     ("only-space", "no_code", " \n\t\n"),
     ("comment", "no_output", "# nothing"),
     ("prose", "compile_error", "I cannot solve this."),
     ("syntax", "compile_error", "print(1"),
     ("indent", "compile_error", "if 1:\nprint(1)"),
     ("nul", "compile_error", "print(1)\0"),
     ("return", "compile_error", "return 3"),
     ("deep-source", "compile_error", "(" * 5000),
     ("huge-source", "compile_error compile_timeout wrong_answer out_of_memory", "x = " + "+".join(["1"] * 50000) + "\nprint(x)"),
     ("big-power", "compile_error compile_timeout wrong_answer timeout crash", "print(9 ** 9 ** 9 % 7)"),
     ("python2", "compile_error", "print 3"),
     ("name", "crash", READ + "print(c)"),
     ("import", "crash", "import no_such_module\n" + READ + "print(a + b)"),
     ("exit-1", "crash", READ + "print(a + b)\nexit(1)"),
     ("exit-text", "crash", READ + "print(a + b)\nimport sys\nsys.exit('bye')"),
     ("exit-256", "ok crash", READ + "print(a + b)\nimport sys\nsys.exit(256)"),
     ("os-exit-1", "crash", READ + "print(a + b, flush=True)\nimport os\nos._exit(1)"),
     ("os-exit-0", "no_output", READ + "print(a + b)\nimport os\nos._exit(0)"),
     ("abort", "crash", READ + "print(a + b, flush=True)\nimport os\nos.abort()"),
     ("segfault", "crash", "import ctypes\nctypes.string_at(0)"),
     ("sigterm-self", "crash", READ + "print(a + b, flush=True)\nimport os\nos.kill(os.getpid(), 15)"),
     ("sigkill-self", "crash", READ + "print(a + b, flush=True)\nimport os\nos.kill(os.getpid(), 9)"),
     ("raise-after", "crash", READ + "print(a + b)\nraise ValueError(a)"),
     ("keyboard", "crash", READ + "print(a + b)\nraise KeyboardInterrupt"),
     ("base-exception", "crash", READ + "print(a + b)\nraise BaseException"),
     ("eof-error", "crash", READ + "print(a + b)\ninput()"),
     ("recursion", "crash", "def f(): return f()\nf()"),
     ("stack-overflow", "crash out_of_memory timeout", "import sys\nsys.setrecursionlimit(1 << 30)\ndef f(): return f()\nf()"),
     ("loop", "timeout", "while True: pass"),
     ("loop-after", "timeout", READ + "print(a + b, flush=True)\nwhile True: pass"),
     ("loop-caught", "timeout", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
     ("c-loop", "timeout", "sum(range(10 ** 11))"),
     ("regex-loop", "timeout", "import re\nre.match('(a+)+b', 'a' * 40)"),
     ("sleep", "timeout", "import time\ntime.sleep(1000)"),
     ("thread-never-ends", "timeout", "import threading\n" + READ + "print(a + b, flush=True)\nthreading.Thread(target=threading.Event().wait).start()"),
     ("ignores-sigterm", "timeout", "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except Exception: pass\nwhile True: pass"),
     ("ignores-xcpu", "timeout", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"),
     ("threads-burn", "timeout", "import threading\nfor i in range(4): threading.Thread(target=lambda: sum(range(10 ** 11))).start()"),
     ("forks-burn", "timeout", "import os\nfor i in range(3): os.fork()\nwhile True: pass"),
     ("memory", "out_of_memory", "x = bytearray(1 << 30)"),
     ("memory-slow", "out_of_memory", "x = []\nwhile True: x.append(bytearray(1 << 20))"),
     ("memory-children", "out_of_memory timeout", "import os\nfor i in range(4):\n    if os.fork() == 0: break\nx = bytearray(180 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nwhile True: pass"),
     ("output", "output_limit", "while True: print('x' * 100)"),
     ("output-then-right", "output_limit", "import os\nos.write(1, b'x' * 600000)\n" + READ + "print(a + b)"),
     ("not-utf8", "wrong_answer", READ + "import sys\nsys.stdout.buffer.write(b'\\xff%d' % (a + b))"),
     ("surrogate", "crash wrong_answer", "print('\\ud800')"),
     ("utf16", "wrong_answer", READ + "import sys\nsys.stdout.buffer.write(str(a + b).encode('utf-16'))"),
     ("nul-between", "wrong_answer", READ + "print(str(a + b)[0] + '\\0' + str(a + b)[1:])"))

rows("python-hostile", ADD,
     ("fork-bomb", "crash timeout no_output wrong_answer out_of_memory", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"),
     ("thread-bomb", "crash timeout no_output out_of_memory", "import threading\nwhile True: threading.Thread(target=threading.Event().wait).start()"),
     ("daemon", "wrong_answer no_output", "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: pass\n    os._exit(0)\nos._exit(0)"),
     ("kill-all", "crash timeout no_output wrong_answer", "import os\nos.kill(-1, 9)"),
     ("kill-parent", "crash no_output timeout wrong_answer", "import os\nfor p in (1, os.getppid()):\n    for s in (9, 15, 19, 6):\n        os.kill(p, s)"),
     ("ptrace", "sandbox_violation", "import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)"),
     ("unshare", "sandbox_violation crash", "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000): raise OSError"),
     ("mount", "sandbox_violation crash", "import ctypes\nctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, 0)"),
     ("network", "crash", "import socket\nsocket.create_connection(('1.1.1.1', 80), 2)"),
     ("bind", "crash", "import socket\nsocket.socket().bind(('', 8080))"),
     ("passwd", "crash", "print(open('/etc/passwd').read())"),
     ("host-files", "crash", "import os\nprint(os.listdir('/home') + os.listdir('/root'))"),
     ("host-symlink", "crash", "import os\nos.symlink('/etc/shadow', 'x')\nprint(open('x').read())"),
     ("write-usr", "crash", "open('/usr/bin/python3', 'w')"),
     ("write-root", "crash", "open('/x', 'w')"),
     ("disk", "crash out_of_memory output_limit no_output wrong_answer", "i = 0\nwhile True:\n    i += 1\n    open('f%d' % i, 'wb').write(b'x' * (1 << 24))"),
     ("inodes", "crash timeout no_output", "i = 0\nwhile True:\n    i += 1\n    open('f%d' % i, 'wb').close()"),
     ("directories", "crash no_output wrong_answer timeout", "import os\nfor i in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nprint(3)"),
     ("unreadable-dir", "wrong_answer", "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()\nos.chmod('a/b', 0)\nos.chmod('a', 0)\nprint(3)"),
     ("proc-1", "crash wrong_answer no_output", "print(open('/proc/1/mem', 'rb').read(1))"),
     ("proc-1-fds", "crash wrong_answer", "import os\nfor f in os.listdir('/proc/1/fd'): print(open('/proc/1/fd/' + f).read())"),
     ("proc-self-fds", "crash wrong_answer", "import os\nfor f in os.listdir('/proc/self/fd'): print(f, os.readlink('/proc/self/fd/' + f))"),
     ("reopen-stdout", "wrong_answer", READ + "f = open('/proc/self/fd/1', 'r+b')\nf.write(b'3 3')\nf.flush()"),
     ("frames", "wrong_answer crash", "import sys\nf = sys._getframe()\nwhile f:\n    print(f.f_globals.keys(), f.f_locals)\n    f = f.f_back"),
     ("gc", "wrong_answer output_limit timeout crash", "import gc\nfor o in gc.get_objects():\n    try: print(o)\n    except Exception: pass"),
     ("harness-module", "wrong_answer crash", "import __main__, sys\nprint(vars(__main__))\nprint(list(sys.modules))"),
     ("says-passed", "wrong_answer", "print('PASSED'); print('{\"status\":\"ok\"}')"),
     ("forge-fds", "crash wrong_answer no_output sandbox_violation", "import os\nfor i in range(3, 200):\n    try: os.write(i, b'\\5\\0\\0\\0\\1\\0\\0\\0x' * 99)\n    except OSError: pass"),
     ("patch-builtins", "wrong_answer", "import builtins, io, sys\nbuiltins.sum = builtins.sorted = builtins.len = lambda *a: 3\nbuiltins.open = lambda *a: io.StringIO('3')\nprint(3)"),
     ("state-between-cases", "wrong_answer", "import os\ntry:\n    n = int(open('/tmp/n').read())\nexcept OSError:\n    n = 0\nopen('/tmp/n', 'w').write(str(n + 1))\nprint(3 if n == 0 else %d)" % (11 + int(SECRET))),
     ("shm-between-cases", "wrong_answer crash", "from multiprocessing import shared_memory as s\ntry:\n    m = s.SharedMemory('x'); print(%d)\nexcept FileNotFoundError:\n    m = s.SharedMemory('x', True, 9); print(3)" % (11 + int(SECRET))),
     ("settrace", "wrong_answer", "import sys\nsys.settrace(lambda *a: None)\nprint(3)"),
     ("exec-other", "wrong_answer", "import os\nos.execv('/bin/echo', ['echo', '3'])"),
     ("dup-stdout", "wrong_answer", "import os\nfor i in range(5, 250): os.dup2(1, i)\nprint(3)"),
     ("close-all", "no_output crash", "import os\nos.closerange(0, 1000)"),
     ("truncate-stdin", "wrong_answer crash no_output", "import os\nos.ftruncate(0, 0)\nprint(3)"),
     ("sparse-stdout", "output_limit crash", "import os\nos.ftruncate(1, 1 << 40)"),
     ("big-sparse", "output_limit crash", "import os\nos.ftruncate(1, (1 << 24) - 1)"),
     ("holder", "wrong_answer no_output", "import os, time\nif os.fork() == 0: time.sleep(100)\nprint(3)"),
     ("stop-self", "timeout", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
     ("raise-priority", "wrong_answer crash", "import os\nprint(os.nice(-5))"),
     ("rlimits-up", "timeout crash out_of_memory", "import resource as r\nfor k in (r.RLIMIT_CPU, r.RLIMIT_AS):\n    try: r.setrlimit(k, (r.getrlimit(k)[1],) * 2)\n    except Exception: pass\nx = bytearray(700 << 20)\nwhile True: pass"),
     ("setuid-binary", "crash wrong_answer", "import subprocess\nsubprocess.run(['su', '-c', 'true'], check=True)"),
     ("mkfifo-hang", "timeout", "import os\nos.mkfifo('p')\nopen('p').read()"),
     ("compile-in-run", "wrong_answer", "exec(compile('print(3)', 'tests.py', 'exec'))"),
     ("leak-exception", "crash", READ + "assert a != 11, 'secret %d' % b\nprint(a + b)"),
     ("leak-name", "crash", READ + "if a == 11:\n    raise type('E%d' % b, (Exception,), {})(b)\nprint(a + b)"),
     ("leak-syntax", "crash", READ + "if a == 11: exec('%d %d' % (b, b))\nprint(a + b)"),
     ("leak-filename", "crash", READ + "if a == 11: exec(compile('\\n' * (b % 9999) + '1/0', 'solution.py', 'exec'))\nprint(a + b)"),
     ("leak-exit", "crash", READ + "if a == 11: exit(b % 256)\nprint(a + b)"),
     ("leak-traceback", "crash", READ + "if a == 11:\n    open('/dev/stderr', 'w').write(str(b))\n    1/0\nprint(a + b)"))

# Cases that need words of their own.
rows("empty-output", stdio(("1\n", ""), ("%s\n" % SECRET, "")),
     ("right", "ok", "input()"), ("os-exit", "ok", "import os\nos._exit(0)"), ("crash", "crash", "1/0"),
     ("exit-1", "crash", "exit(1)"), ("kill", "crash", "import os\nos.kill(os.getpid(), 9)"), ("loop", "timeout", "while 1: pass"),
     ("prints", "wrong_answer", "print(0)"), ("newline", "ok", "print()"))
rows("empty-output-exact", stdio(("1\n", ""), compare="exact"),
     ("right", "ok", "pass"), ("newline", "wrong_answer", "print()"))
rows("empty-input", stdio(("", "0\n")), ("right", "ok", "import sys\nprint(len(sys.stdin.read()))"), ("eof", "crash", "input()"))
rows("crlf-input", stdio(("1 2\r\n3\r\n", "1 2|3"), compare="exact"),
     ("input-strips", "ok wrong_answer", "print(input().strip() + '|' + input().strip(), end='')"),
     ("bytes", "ok", "import sys\nd = sys.stdin.buffer.read()\nassert d == b'1 2\\r\\n3\\r\\n'\nprint('1 2|3', end='')"))
rows("exact", stdio(("x", "a \nb\n"), compare="exact"),
     ("right", "ok", "print('a \\nb')"), ("no-newline", "wrong_answer", "print('a \\nb', end='')"), ("space", "wrong_answer", "print('a\\nb')"))
rows("lines", stdio(("x", "a  b\nc\n"), compare="lines"),
     ("right", "ok", "print('a  b   \\nc\\n\\n')"), ("crlf", "ok", "print('a  b\\r\\nc\\r')"), ("inner-space", "wrong_answer", "print('a b\\nc')"),
     ("joined", "wrong_answer", "print('a  b c')"), ("number", "wrong_answer", "print('a  b\\nc\\n0')"))
rows("tokens", stdio(("x", "1 100 0.5 abc nan inf -inf")),
     ("right", "ok", "print('1.0\\n1e2\\n.50 abc nan Inf -inf')"), ("case", "wrong_answer", "print('1 100 0.5 ABC nan inf -inf')"),
     ("nan", "wrong_answer", "print('1 100 nan abc nan inf -inf')"), ("sign", "wrong_answer", "print('1 100 .5 abc nan inf inf')"),
     ("hex", "wrong_answer", "print('0x1 100 .5 abc nan inf -inf')"), ("underscore", "wrong_answer", "print('1 1_00 .5 abc nan inf -inf')"))
rows("tolerance", stdio(("x", "1000000 0.5 1e-9"), tolerance=1e-6),
     ("right", "ok", "print(1000000.9, 0.5000009, 0)"), ("relative", "wrong_answer", "print(1000002, 0.5, 0)"),
     ("absolute", "wrong_answer", "print(1000000, 0.500002, 0)"), ("nan", "wrong_answer", "print('nan nan nan')"),
     ("inf", "wrong_answer", "print('inf inf inf')"), ("text", "wrong_answer", "print('1000000 0.5 x')"))
rows("big-numbers", stdio(("x", "123456789012345678901234567890")),
     ("right", "ok", "print(123456789012345678901234567890)"), ("off", "wrong_answer", "print(123456789012345678901234567891)"),
     ("float", "wrong_answer", "print(float(123456789012345678901234567890))"))
rows("unicode", stdio(("é\n", "é日本\n")),
     ("right", "ok", "print(input() + '日本')"), ("latin1", "wrong_answer", "import sys\nsys.stdout.buffer.write('é'.encode('latin1'))"))
rows("many-lines", stdio(("".join("%d\n" % i for i in range(20000)), "199990000\n")),
     ("right", "ok", "import sys\nprint(sum(map(int, sys.stdin)))"), ("input", "ok", "print(sum(int(input()) for _ in range(20000)))"),
     ("ignores-input", "ok", "print(199990000)"))
rows("checker", stdio(("7\n", "3 4\n"), checker={"language": "python", "code":
     "import sys\nn = int(open(sys.argv[1]).read())\nx = open(sys.argv[2]).read().split()\nopen(sys.argv[3]).read()\n"
     "sys.exit(0 if len(x) == 2 and sum(map(int, x)) == n else 1)"}),
     ("same", "ok", "print(3, 4)"), ("other", "ok", "print(2, 5)"), ("wrong", "wrong_answer", "print(2, 6)"),
     ("rubbish", "wrong_answer", "print('x y')"), ("nothing", "no_output wrong_answer", "pass"), ("crash", "crash", "print(3, 4)\n1/0"),
     ("bytes", "wrong_answer", "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe 3')"), ("huge", "wrong_answer", "print('9' * 100000, 3)"))
rows("checker-cpp", stdio(("7\n", "3 4\n"), checker={"language": "cpp", "code":
     "#include <fstream>\nint main(int, char** v) { int n, a, b; std::ifstream(v[1]) >> n; std::ifstream o(v[2]);\n"
     "  if (!(o >> a >> b)) return 1; return a + b == n ? 0 : 1; }"}),
     ("other", "ok", "print(1, 6)"), ("wrong", "wrong_answer", "print(1)"))
rows("checker-broken", stdio(("7\n", "3 4\n"), checker={"language": "python", "code": "import sys\nsys.exit(2)"}),
     ("any", "problem_error", "print(3, 4)"), ("crash", "crash problem_error", "1/0"))
rows("checker-no-compile", stdio(("7\n", "3 4\n"), checker={"language": "python", "code": "def"}), ("any", "problem_error", "print(3, 4)"))
rows("no-cases", {"check": {"type": "stdio", "cases": []}}, ("any", "problem_error", "print(3)"), ("none", "problem_error no_code", ""))
rows("no-cases-call", {"entry_point": "f", "check": {"type": "call", "cases": []}}, ("any", "problem_error", "def f(): return 3"))

# Extraction.
RIGHT = READ + "print(a + b)\n"
rows("extract", ADD,
     ("fence", "ok", {"completion": "Here:\n```python\n" + RIGHT + "```\nDone."}),
     ("last", "ok", {"completion": "```python\nprint(1)\n```\nBetter:\n```python\n" + RIGHT + "```"}),
     ("tagged-first", "ok", {"completion": "```python\n" + RIGHT + "```\nOutput:\n```\n3\n```"}),
     ("py", "ok", {"completion": "```py\n" + RIGHT + "```"}),
     ("upper", "ok", {"completion": "```Python3\n" + RIGHT + "```"}),
     ("no-tag", "ok", {"completion": "```\n" + RIGHT + "```"}),
     ("wrong-tag", "ok", {"completion": "```text\n" + RIGHT + "```"}),
     ("unclosed", "ok", {"completion": "Sure:\n```python\n" + RIGHT}),
     ("bare", "ok", {"completion": RIGHT}),
     ("orphan", "ok", {"completion": RIGHT + "```\nThis reads two numbers."}),
     ("think", "ok", {"completion": "<think>maybe\n```python\nprint(0)\n```\n</think>\n```python\n" + RIGHT + "```"}),
     ("think-only", "no_code", {"completion": "<think>hmm ```python\nprint(3)\n```"}),
     ("think-orphan", "ok", {"completion": "hmm\n</think>\n```python\n" + RIGHT + "```"}),
     ("tilde", "ok", {"completion": "~~~python\n" + RIGHT + "~~~"}),
     ("four", "ok", {"completion": "````python\n" + RIGHT + "````"}),
     ("indented", "ok", {"completion": "1. Code:\n   ```python\n" + "".join("   %s\n" % l for l in RIGHT.splitlines()) + "   ```"}),
     ("crlf", "ok", {"completion": ("```python\n" + RIGHT + "```\n").replace("\n", "\r\n")}),
     ("fence-in-string", "ok", {"completion": "```python\nx = '```'\n" + RIGHT + "```"}),
     ("code-first", "ok", {"code": RIGHT, "completion": "```python\nprint(0)\n```"}),
     ("empty", "no_code", {"completion": ""}),
     ("missing", "no_code", {"finish_reason": "stop"}),
     ("null", "no_code", {"completion": None}),
     ("empty-fence", "no_code no_output", {"completion": "```python\n```"}))

ADDC = call("add", ([1, 2], 3), ([11, int(SECRET)], 11 + int(SECRET)))
rows("call-right", ADDC,
     ("function", "ok", "def add(a, b): return a + b"), ("lambda", "ok", "add = lambda a, b: a + b"),
     ("method", "ok", "class Solution:\n    def add(self, a, b): return a + b"),
     ("static", "ok", "class Solution:\n    @staticmethod\n    def add(a, b): return a + b"),
     ("classmethod", "ok", "class Solution:\n    @classmethod\n    def add(cls, a, b): return a + b"),
     ("solution-typed", "ok", "from typing import List\nclass Solution:\n    def add(self, a: int, b: int) -> int:\n        return self.g(a) + b\n    def g(self, a): return a"),
     ("partial", "ok", "import operator\nadd = operator.add"), ("float", "ok", "def add(a, b): return float(a + b)"),
     ("int-subclass", "ok", "class I(int): pass\ndef add(a, b): return I(a + b)"),
     ("prints", "ok", "def add(a, b):\n    print(a, b)\n    return a + b"),
     ("guard", "ok", "def add(a, b): return a + b\nif __name__ == '__main__':\n    print(add(1, 2))"),
     ("guard-reads", "ok", "def add(a, b): return a + b\nif __name__ == '__main__':\n    print(add(*map(int, input().split())))"),
     ("thread", "ok", "import threading\ndef add(a, b):\n    o = []\n    t = threading.Thread(target=lambda: o.append(a + b)); t.start(); t.join()\n    return o[0]"),
     ("deep", "ok", "import sys\nsys.setrecursionlimit(10 ** 6)\ndef d(n): return 0 if n == 0 else d(n - 1)\ndef add(a, b): return a + b + d(100000)"),
     ("noisy-import", "ok", "import os, sys\nos.write(1, b'x' * 1000)\ndef add(a, b): return a + b"),
     ("reads-stdin", "ok", "import sys\nsys.stdin.read()\ndef add(a, b): return a + b"),
     ("alive-thread", "ok", "import threading\nthreading.Thread(target=threading.Event().wait).start()\ndef add(a, b): return a + b"),
     ("helper-class", "ok", "class Solution: pass\ndef add(a, b): return a + b"),
     ("async-free", "ok", "import asyncio\nasync def g(a, b): return a + b\ndef add(a, b): return asyncio.run(g(a, b))"))
rows("call-wrong", ADDC,
     ("minus", "wrong_answer", "def add(a, b): return a - b"), ("none", "wrong_answer", "def add(a, b): print(a + b)"),
     ("text", "wrong_answer", "def add(a, b): return str(a + b)"), ("list", "wrong_answer", "def add(a, b): return [a + b]"),
     ("missing", "interface_error", "def sub(a, b): return a + b"), ("not-callable", "interface_error", "add = 3"),
     ("solution-no-method", "interface_error", "class Solution: pass"), ("arity", "crash", "def add(a): return a"),
     ("coroutine", "wrong_answer", "async def add(a, b): return a + b"), ("generator", "wrong_answer", "def add(a, b): yield a + b"),
     ("solution-init", "crash interface_error", "class Solution:\n    def __init__(self, x): pass\n    def add(self, a, b): return a + b"),
     ("raise", "crash", "def add(a, b): raise ValueError(b)"), ("raise-exit", "early_exit crash", "def add(a, b): raise SystemExit(0)"),
     ("exit-1", "crash early_exit", "import sys\ndef add(a, b): sys.exit(1)"), ("os-exit", "early_exit", "import os\ndef add(a, b): os._exit(0)"),
     ("exit-at-top", "early_exit", "import sys\nsys.exit(0)\ndef add(a, b): return a + b"), ("top-error", "crash", "1/0\ndef add(a, b): return a + b"),
     ("loop", "timeout", "def add(a, b):\n    while True: pass"), ("loop-at-top", "timeout", "while True: pass"), ("sleep", "timeout", "import time\ndef add(a, b): time.sleep(999)"),
     ("memory", "out_of_memory", "def add(a, b): return bytearray(1 << 30)"), ("recursion", "crash", "def add(a, b): return add(a, b)"),
     ("nan", "wrong_answer", "def add(a, b): return float('nan')"), ("complex", "wrong_answer", "def add(a, b): return complex(a + b)"),
     ("decimal", "wrong_answer", "from decimal import Decimal\ndef add(a, b): return Decimal(a + b)"),
     ("fraction", "wrong_answer", "from fractions import Fraction\ndef add(a, b): return Fraction(a + b)"),
     ("bytes", "wrong_answer", "def add(a, b): return b'3'"), ("output", "output_limit", "def add(a, b):\n    while True: print('x' * 999)"),
     ("huge-answer", "wrong_answer out_of_memory timeout crash", "def add(a, b): return [0] * (10 ** 7)"),
     ("huge-int", "wrong_answer", "def add(a, b): return 1 << 4000000"), ("big-text", "wrong_answer", "def add(a, b): return 'x' * (20 << 20)"),
     ("object", "wrong_answer", "def add(a, b): return object()"))
rows("call-hostile", ADDC,
     ("eq", "wrong_answer", "class E:\n    def __eq__(s, o): return True\n    __hash__ = None\ndef add(a, b): return E()"),
     ("int-eq", "wrong_answer", "class E(int):\n    def __eq__(s, o): return True\n    def __int__(s): return 3\n    __index__ = __int__\ndef add(a, b): return E(0)"),
     ("float-eq", "wrong_answer", "class E(float):\n    def __float__(s): return 3.0\n    __pos__ = __float__\ndef add(a, b): return E(0)"),
     ("class-attr", "wrong_answer", "class E:\n    __class__ = int\n    def __pos__(s): return 3\ndef add(a, b): return E()"),
     ("reduce", "wrong_answer", "class E:\n    def __reduce__(s): return (int, ('3',))\ndef add(a, b): return E()"),
     ("buffer", "wrong_answer", "import array\ndef add(a, b): return array.array('q', [3])"),
     ("code-object", "wrong_answer", "def add(a, b): return (lambda: 3).__code__"),
     ("marshal-patch", "wrong_answer crash early_exit sandbox_violation", "import marshal, os\nmarshal.dumps = lambda *a: b'i\\3\\0\\0\\0'\nos.write = lambda *a: 0\ndef add(a, b): return 0"),
     ("frames", "wrong_answer crash sandbox_violation early_exit", "import sys\ndef add(a, b):\n    f = sys._getframe()\n    while f:\n        for k, v in f.f_locals.items():\n            if k == 'send': v(b'value', b'i\\3\\0\\0\\0')\n        f = f.f_back\n    return 0"),
     ("frames-expect", "wrong_answer", "import sys\ndef add(a, b):\n    f = sys._getframe()\n    s = ''\n    while f:\n        s += repr(f.f_locals); f = f.f_back\n    return 'expect' in s and 3 or 0"),
     ("forge", "sandbox_violation", "import os\nos.write(4, b'\\x20\\0\\0\\0' + b'\\5\\0\\0\\0value' * 9)\ndef add(a, b): return 0"),
     ("read-nonce", "sandbox_violation wrong_answer early_exit timeout crash", "import os\ndef add(a, b):\n    os.set_blocking(3, False)\n    try: os.read(3, 999)\n    except OSError: pass\n    return 0"),
     ("close-channel", "early_exit crash wrong_answer", "import os\ndef add(a, b):\n    os.close(4)\n    return a + b"),
     ("atexit-print", "early_exit", "import sys\ndef add(a, b): sys.exit(0)"),
     ("patch-exceptions", "wrong_answer crash early_exit", "import builtins\nfor n in dir(builtins):\n    if n.endswith('Error') or n == 'BaseException': setattr(builtins, n, int)\ndef add(a, b): raise KeyError"),
     ("str-exception", "crash", "class E(Exception):\n    def __str__(s):\n        while True: pass\ndef add(a, b): raise E" ),
     ("fork-answers", "wrong_answer sandbox_violation", "import os\ndef add(a, b):\n    if os.fork() == 0: return 3\n    os.wait()\n    return 0"),
     ("leak", "crash", "def add(a, b):\n    if a == 11: raise KeyError('it is %d' % b)\n    return a + b"),
     ("leak-wrong", "wrong_answer", "def add(a, b): return a + b if a != 11 else 'it is %d' % b"))
rows("call-lists", call("f", ([[3, 1, 2]], [1, 2, 3])),
     ("right", "ok", "def f(a): return sorted(a)"), ("tuple", "ok", "def f(a): return tuple(sorted(a))"), ("in-place", "ok", "def f(a):\n    a.sort()\n    return a"),
     ("list-subclass", "ok", "class L(list): pass\ndef f(a): return L(sorted(a))"), ("set", "wrong_answer", "def f(a): return set(a)"),
     ("iterator", "wrong_answer", "def f(a): return iter(sorted(a))"), ("map", "wrong_answer", "def f(a): return map(int, sorted(a))"),
     ("keys", "wrong_answer", "def f(a): return dict.fromkeys(sorted(a)).keys()"), ("deque", "wrong_answer", "from collections import deque\ndef f(a): return deque(sorted(a))"),
     ("range", "wrong_answer", "def f(a): return range(1, 4)"), ("namedtuple", "ok", "from collections import namedtuple\nN = namedtuple('N', 'a b c')\ndef f(a): return N(1, 2, 3)"),
     ("lying-list", "wrong_answer", "class L(list):\n    def __iter__(s): return iter([1, 2, 3])\n    def __len__(s): return 3\n    def __getitem__(s, i): return i + 1\ndef f(a): return L([9])"),
     ("itself", "wrong_answer", "def f(a):\n    a.append(a)\n    return a"), ("deep", "wrong_answer crash", "def f(a):\n    x = []\n    for i in range(100000): x = [x]\n    return x"),
     ("shared", "wrong_answer timeout out_of_memory", "def f(a):\n    x = [1]\n    for i in range(60): x = [x, x]\n    return x"),
     ("floats", "ok", "def f(a): return [1.0, 2.0, 3.0]"), ("bools", "wrong_answer", "def f(a): return [True, 2, 3]"), ("strings", "wrong_answer", "def f(a): return '123'"))
rows("call-dict", call("f", ([1], {"a": 1, "b": [None, True]})),
     ("right", "ok", "def f(x): return {'b': [None, True], 'a': 1}"), ("counter", "wrong_answer", "from collections import Counter\ndef f(x): return Counter('a')"),
     ("default", "ok", "from collections import defaultdict\ndef f(x):\n    d = defaultdict(list); d['a'] = 1; d['b'] = (None, True)\n    return d"),
     ("extra", "wrong_answer", "def f(x): return {'a': 1, 'b': [None, True], 'c': 0}"), ("int-true", "wrong_answer", "def f(x): return {'a': True, 'b': [None, 1]}"),
     ("pairs", "wrong_answer", "def f(x): return [('a', 1), ('b', [None, True])]"),
     ("str-key-class", "ok", "class S(str): pass\ndef f(x): return {S('a'): 1, 'b': [None, True]}"))
rows("call-int-keys", call("f", ([1], {"1": "x", "-2": "y"})),
     ("int", "ok", "def f(x): return {1: 'x', -2: 'y'}"), ("str", "ok", "def f(x): return {'1': 'x', '-2': 'y'}"),
     ("both", "wrong_answer", "def f(x): return {1: 'x', '1': 'x', -2: 'y'}"), ("float", "wrong_answer", "def f(x): return {1.0: 'x', -2.0: 'y'}"), ("bool", "wrong_answer", "def f(x): return {True: 'x', -2: 'y'}"))
rows("call-floats", call("f", ([2.0], 1.4142135623730951), ([0], 0.0)),
     ("right", "ok", "def f(x): return x ** .5"), ("near", "ok", "def f(x): return x ** .5 + 1e-7"), ("far", "wrong_answer", "def f(x): return x ** .5 + 1e-5"),
     ("inf", "wrong_answer", "def f(x): return float('inf')"), ("negative-zero", "ok", "def f(x): return x ** .5 if x else -0.0"))
rows("call-exact-ints", call("f", ([10 ** 18], 10 ** 18 + 1)),
     ("right", "ok", "def f(x): return x + 1"), ("off", "wrong_answer", "def f(x): return x"), ("float", "wrong_answer ok", "def f(x): return float(x + 1)"))
rows("call-big", call("f", ([300], 2 ** 300), ([64], 2 ** 64), ([63], -2 ** 63)),
     ("right", "ok", "def f(x): return 2 ** x if x != 63 else -2 ** 63"), ("off", "wrong_answer", "def f(x): return 2 ** x + 1"))
rows("call-bool", call("f", ([1], True), ([0], False)),
     ("right", "ok", "def f(x): return bool(x)"), ("int", "wrong_answer", "def f(x): return x"))
rows("call-none", call("f", ([1], None)),
     ("right", "ok", "def f(x): pass"), ("zero", "wrong_answer", "def f(x): return 0"), ("text", "wrong_answer", "def f(x): return 'None'"), ("exit", "early_exit", "import os\nos._exit(0)\ndef f(x): pass"))
rows("call-kwargs", {"entry_point": "f", "check": {"type": "call", "cases": [{"args": [1], "kwargs": {"b": 2}, "expect": 3}, {"kwargs": {"a": 1, "b": 5}, "expect": 6}]}},
     ("right", "ok", "def f(a, b): return a + b"), ("name", "crash", "def f(a, c): return a + c"))
rows("call-fresh", call("f", ([[1]], [1, 1]), ([[1]], [1, 1])),
     ("mutates", "ok", "def f(a):\n    a.append(1)\n    return a"), ("state", "wrong_answer", "seen = []\ndef f(a):\n    seen.append(1)\n    return [1, 1] if len(seen) > 1 else 0"))
rows("call-text", call("f", (["é\u0000\n"], "\n\u0000é")), ("right", "ok", "def f(s): return s[::-1]"), ("stripped", "wrong_answer", "def f(s): return s.strip()[::-1]"))

CHECK = script("f", "def check(c):\n    assert c(2) == 4\n    assert c(%s) == %d\n" % (SECRET, 2 * int(SECRET)), "check")
rows("call-beyond-doubles", call("f", ([500], 7 ** 500)), ("right", "ok", "def f(n): return 7 ** n"), ("near", "wrong_answer", "def f(n): return 7 ** n + 1"), ("inf", "wrong_answer", "def f(n): return float('inf')"))
rows("script", CHECK,
     ("guard", "ok", "def f(x): return 2 * x\nif __name__ == '__main__': exit(f(int(input())))"), ("right", "ok", "def f(x): return 2 * x"), ("wrong", "wrong_answer", "def f(x): return 4"), ("method", "ok", "class Solution:\n    def f(self, x): return 2 * x"),
     ("raises", "crash", "def f(x): raise ValueError(x)"), ("missing", "interface_error", "def g(x): return 2 * x"), ("exit", "early_exit", "def f(x): raise SystemExit"),
     ("os-exit", "early_exit", "import os\ndef f(x): os._exit(0)"), ("exit-top", "early_exit", "import os\nos._exit(0)"), ("top-exit", "early_exit", "exit()"),
     ("eq", "wrong_answer", "class E:\n    def __eq__(s, o): return True\ndef f(x): return E()"), ("int-eq", "wrong_answer", "class E(int):\n    def __eq__(s, o): return True\ndef f(x): return E(0)"),
     ("patch-assert", "wrong_answer", "import builtins\nbuiltins.AssertionError = type('X', (Exception,), {})\ndef check(c): pass\ndef f(x): return 0"),
     ("trace", "wrong_answer", "import sys\ndef f(x):\n    g = sys._getframe()\n    while g:\n        if 'check' in g.f_globals: return 2 * x\n        g = g.f_back\n    return 0"),
     ("loop", "timeout", "def f(x):\n    while 1: pass"), ("memory", "out_of_memory", "def f(x): return bytearray(1 << 30)"), ("leak", "crash", "def f(x):\n    if x > 9: raise ValueError('saw %d' % x)\n    return 2 * x"),
     ("assert-error", "crash", "def f(x): raise AssertionError(x)"), ("state", "ok", "n = []\ndef f(x):\n    n.append(x)\n    return 2 * x"))
rows("script-mbpp", script("f", "assert f([1, 2]) == (1, 2)\nassert f([]) == ()"),
     ("right", "ok", "def f(x): return tuple(x)"), ("list", "wrong_answer", "def f(x): return x"))
rows("script-raises", script("f", "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass\nassert f(1) == 1"),
     ("right", "ok", "def f(x):\n    if x < 0: raise ValueError\n    return x"), ("subclass", "ok", "class E(ValueError): pass\ndef f(x):\n    if x < 0: raise E\n    return x"), ("other", "crash wrong_answer", "def f(x):\n    if x < 0: raise KeyError\n    return x"), ("none", "wrong_answer", "def f(x): return x"))
rows("script-never-calls", script("f", "def check(c): pass", "check"), ("any", "problem_error", "def f(x): return x"))
rows("script-broken", script("f", "def check(c:", "check"), ("any", "problem_error", "def f(x): return x"))
rows("script-no-check", script("f", "x = 1", "check"), ("any", "problem_error", "def f(x): return x"))
rows("script-empty", script("f", ""), ("any", "problem_error", "def f(x): return x"))
rows("script-inprocess", script("f", "assert f(lambda x: x + 1, 2) == 3", inprocess=True),
     ("right", "ok", "def f(g, x): return g(x)"), ("wrong", "wrong_answer", "def f(g, x): return 0"), ("exit", "early_exit", "import os\ndef f(g, x): os._exit(0)"), ("sys-exit", "early_exit wrong_answer crash", "def f(g, x): raise SystemExit(0)"))
rows("inprocess-never-calls", script("f", "def check(c): assert callable(c)", "check", inprocess=True), ("any", "problem_error", "def f(x): return x"), ("exit", "early_exit", "exit()"))
rows("inprocess-own-classes", script("f", "from unittest.mock import ANY\nclass P:\n    def __eq__(s, o): return o == 1\ndef check(c):\n    assert c(P()) == 1 and [1] == [c(P())] and c([1, 2]) == [1, ANY]", "check", inprocess=True), ("right", "ok", "def f(x): return x"), ("wrong", "wrong_answer", "def f(x): return [x]"))
rows("inprocess-class", script("B", "def check(B):\n    a, b = B(1), B(1)\n    assert isinstance(a, B) and a == b and a != B(2) and a != 1", "check", inprocess=True), ("right", "ok", "class B:\n    def __init__(s, v): s.v = v\n    def __eq__(s, o): return isinstance(o, B) and s.v == o.v"), ("wrong", "wrong_answer", "class B:\n    def __init__(s, v): s.v = v\n    def __eq__(s, o): return True"))
# Elements of constant sets, in the order that the interpreter itself finds them in.
SETS = "for x in {16, 8, 0, 24}: print(x)\ndef f(y): return [x for x in (1, {40, 8, 0, 16})[1]] + list({y, 8, 0, 16})\nif __name__ == '__main__': print(f(24))"
rows("python-sets", stdio(("", subprocess.run(["/usr/bin/python3", "-c", SETS], capture_output=True, text=True, check=True).stdout)), ("order", "ok", SETS))
rows("call-sets", call("f", ([24], eval(subprocess.run(["/usr/bin/python3", "-c", SETS], capture_output=True, text=True, check=True).stdout.splitlines()[-1]))), ("order", "ok", SETS))
rows("call-attacks", call("f", ([2], 4), ([int(SECRET)], 2 * int(SECRET))), *APART)
rows("script-attacks", CHECK, *APART)
rows("inprocess-attacks", script("f", TOGETHER_CODE, "check", inprocess=True), *TOGETHER)

# C++.
CPP = stdio(("1 2\n", "3\n"), ("11 %s\n" % SECRET, "%d\n" % (11 + int(SECRET))), language="cpp")
SUM = "#include <iostream>\nint main() { long long a, b; std::cin >> a >> b; std::cout << a + b; "
rows("cpp-right", CPP,
     ("iostream", "ok", SUM + "}"), ("bits", "ok", "#include <bits/stdc++.h>\nusing namespace std;\nint main() { ios::sync_with_stdio(false); cin.tie(0); long long a, b; cin >> a >> b; cout << a + b << '\\n'; }"),
     ("scanf", "ok", "#include <cstdio>\nint main() { long long a, b; scanf(\"%lld%lld\", &a, &b); printf(\"%lld\", a + b); }"),
     ("exit", "ok", "#include <cstdlib>\n" + SUM + "exit(0); }"), ("thread", "ok", "#include <thread>\n" + SUM.replace("std::cout << a + b;", "std::thread([&] { std::cout << a + b; }).join();") + "}"),
     ("deep", "ok", "int f(volatile int n) { return n == 0 ? 0 : f(n - 1) + 1; }\n" + SUM + "volatile int x = f(1000000); }"),
     ("c++20", "ok", "#include <ranges>\n#include <concepts>\n" + SUM + "}"), ("warning", "ok", "int unused(int x) { }\n" + SUM + "}"),
     ("ndebug", "ok", "#define NDEBUG\n#include <cassert>\n" + SUM + "assert(false); }"), ("crlf", "ok", (SUM + "}\n").replace("\n", "\r\n")), ("static", "ok", "struct S { S() { std::ios_base::sync_with_stdio(false); } };\n".replace("struct", "#include <iostream>\nstruct") + "S s;\n" + SUM + "}"),
     ("fence", "ok", {"completion": "So:\n```cpp\n" + SUM + "}\n```"}), ("fence-c", "ok", {"completion": "```c++\n" + SUM + "}\n```\nand\n```\n3\n```"}))
rows("cpp-wrong", CPP,
     ("minus", "wrong_answer", SUM.replace("a + b", "a - b") + "}"), ("return-1", "crash", SUM + "return 1; }"), ("abort", "crash", "#include <cstdlib>\n" + SUM + "std::cout << std::flush; abort(); }"),
     ("segv", "crash", SUM + "std::cout << std::flush; *(volatile int*)8 = 1; }"), ("throw", "crash", SUM + "std::cout << std::flush; throw a; }"), ("fpe", "crash", SUM + "std::cout << std::flush; volatile int z = 0; return 10 / z; }"),
     ("loop", "timeout", SUM + "std::cout << std::flush; for (volatile int i = 0;; i = 1); }"), ("pause", "timeout", "#include <unistd.h>\nint main() { pause(); }"),
     ("memory", "out_of_memory", "#include <vector>\n" + SUM + "std::vector<char> v(1u << 30, 'x'); return v[9] == 0; }"), ("new", "out_of_memory crash", SUM + "for (;;) for (volatile char* p = new char[1 << 20], *q = p; q < p + (1 << 20); q += 512) *q = 1; }"),
     ("static-memory", "out_of_memory crash", "char x[1 << 30];\n" + SUM + "for (long i = 0; i < 1 << 30; i += 4096) x[i] = 1; }"),
     ("stack", "crash out_of_memory", "int f(volatile int n) { volatile char x[10000]; x[n % 10000] = 1; return f(n + 1) + x[5]; }\nint main() { return f(0); }"),
     ("output", "output_limit", "#include <cstdio>\nint main() { for (;;) puts(\"xxxxxxxxxxxx\"); }"), ("no-main", "compile_error", "int f() { return 3; }"), ("error", "compile_error", "int main() { return x; }"),
     ("missing-include", "compile_error", "int main() { std::vector<int> v; }"), ("no-output", "no_output", "int main() {}"), ("python", "compile_error", "print(3)"), ("os-exit", "no_output", "#include <unistd.h>\n#include <cstdio>\nint main() { printf(\"3\"); _exit(0); }"), ("static-assert", "compile_error", "static_assert(false);\n" + SUM + "}"))
rows("cpp-hostile", CPP,
     ("passwd", "compile_error", "#include \"/etc/passwd\"\n" + SUM + "}"), ("include-dev", "compile_error compile_timeout", "#include \"/dev/zero\"\n" + SUM + "}"), ("include-tty", "compile_error compile_timeout", "#include \"/dev/stdin\"\n#include \"/dev/random\"\nint main() { x }"),
     ("include-self", "compile_error compile_timeout", "#include __FILE__\n#include __FILE__\n"), ("incbin", "compile_error", "asm(\".incbin \\\"/etc/shadow\\\"\");\n" + SUM + "}"), ("incbin-zero", "compile_error compile_timeout", "asm(\".incbin \\\"/dev/zero\\\"\");\n" + SUM + "}"),
     ("templates", "compile_error compile_timeout", "template <int N, int M> struct T { enum { v = T<N - 1, M>::v + T<N - 1, M + 1>::v }; };\ntemplate <int M> struct T<0, M> { enum { v = 1 }; };\nint main() { return T<800, 0>::v; }"),
     ("constexpr", "compile_error compile_timeout", "constexpr int f(int n) { int s = 0; for (int i = 0; i < n; ++i) s += i % 7; return s; }\nstatic_assert(f(2000000000) != 3);\nint main() {}"),
     ("big-array", "compile_error compile_timeout crash out_of_memory no_output", "int x[1 << 29] = {1};\nint main() {}"), ("macro-bomb", "compile_error compile_timeout", "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\nint y[] = { B(B(B(1,))) };\nint main() {}"),
     ("static-ctor", "wrong_answer", "#include <cstdio>\n#include <cstdlib>\nstruct S { S() { puts(\"3\"); fflush(stdout); _Exit(0); } } s;\nint main() {}"), ("fork", "crash timeout no_output out_of_memory wrong_answer", "#include <unistd.h>\nint main() { for (;;) fork(); }"),
     ("kill", "crash no_output timeout", "#include <csignal>\nint main() { kill(1, 9); kill(-1, 9); for (;;); }"), ("ptrace", "sandbox_violation crash", "#include <sys/ptrace.h>\nint main() { return ptrace(PTRACE_TRACEME, 0, 0, 0) != 0; }"), ("socket", "crash", "#include <sys/socket.h>\nint main() { return socket(AF_INET, SOCK_STREAM, 0) < 0; }"),
     ("asm-syscall", "sandbox_violation crash", "int main() { asm volatile(\"syscall\" :: \"a\"(101), \"D\"(0) : \"rcx\", \"r11\"); return 1; }"), ("ia32", "sandbox_violation crash", "int main() { asm volatile(\"int $0x80\" :: \"a\"(26), \"b\"(0)); return 1; }"), ("ignore", "timeout", "#include <csignal>\nint main() { for (int i = 1; i < 65; ++i) signal(i, SIG_IGN); for (volatile int i = 0;; i = 1); }"),
     ("ld-preload", "wrong_answer", "#include <unistd.h>\n#include <cstdlib>\nint main() { setenv(\"LD_PRELOAD\", \"./x.so\", 1); execl(\"/bin/echo\", \"echo\", \"3\", nullptr); }"), ("pragma-message", "wrong_answer", "#pragma GCC error_off\n#pragma message \"ok\"\n#include <cstdio>\nint main() { puts(\"3\"); }"), ("line", "compile_error", "#line 1 \"/etc/passwd\"\nint main() { return x; }"))
ADDCPP = call("add", ([1, 2], 3), ([11, int(SECRET)], 11 + int(SECRET)), language="cpp")
rows("cpp-call", ADDCPP,
     ("right", "ok", "int add(int a, int b) { return a + b; }"), ("ll", "ok", "long long add(long long a, long long b) { return a + b; }"), ("method", "ok", "class Solution { public: int add(int a, int b) { return a + b; } };"), ("const-ref", "ok", "int add(const int& a, const int& b) { return a + b; }"),
     ("wrong", "wrong_answer", "int add(int a, int b) { return 3; }"), ("double", "ok", "double add(double a, double b) { return a + b; }"), ("text", "wrong_answer interface_error crash", "#include <string>\nstd::string add(int a, int b) { return std::to_string(a + b); }"), ("bool", "wrong_answer", "bool add(int a, int b) { return true; }"), ("own-main", "ok", "#include <iostream>\nint add(int a, int b) { return a + b; }\nint main() { std::cout << add(1, 2); }"),
     ("exit", "early_exit", "#include <cstdlib>\nint add(int a, int b) { exit(0); }"), ("_exit", "early_exit", "#include <unistd.h>\nint add(int a, int b) { _exit(0); }"), ("ctor-exit", "early_exit", "#include <unistd.h>\nstruct S { S() { _exit(0); } } s;\nint add(int a, int b) { return a + b; }"), ("throw", "crash", "#include <stdexcept>\nint add(int a, int b) { throw std::runtime_error(\"x\"); }"), ("throw-int", "crash", "int add(int a, int b) { throw 3; }"),
     ("segv", "crash", "int add(int a, int b) { return *(volatile int*)8; }"), ("loop", "timeout", "int add(int a, int b) { for (volatile int i = 0;; i = 1); }"), ("missing", "interface_error", "int sub(int a, int b) { return a + b; }"), ("pointer", "interface_error compile_error", "int add(int* a, int* b) { return 3; }"), ("three", "crash interface_error", "int add(int a, int b, int c) { return a + b; }"),
     ("forge", "sandbox_violation", "#include <unistd.h>\nint add(int a, int b) { write(4, \"\\5\\0\\0\\0\\1\\0\\0\\0x\", 9); return 3; }"), ("macro-send", "wrong_answer compile_error interface_error", "#define send(...) send({\"value\", \"i\\3\"})\n#define nonce() nonce\nint add(int a, int b) { return 0; }"), ("driver-names", "ok wrong_answer compile_error interface_error sandbox_violation", "namespace leap_driver { }\nint add(int a, int b) { return a + b; }"),
     ("uses-driver", "wrong_answer sandbox_violation early_exit compile_error interface_error", "int add(int a, int b) { leap_driver::send({\"value\", std::string(\"i\\3\\0\\0\\0\", 5)}); return 0; }"), ("segv-handler", "wrong_answer crash early_exit", "#include <csignal>\n#include <cstdlib>\nint add(int a, int b) { signal(SIGSEGV, [](int) { _Exit(0); }); return *(volatile int*)8; }"))
CPPCHECK = script("f", "template <class F> void check(F c) { assert(c(2) == 4); assert(c(%s) == %d); }" % (SECRET, 2 * int(SECRET)), "check", "cpp", "#include <string>\nlong long f(long long x) {\n")
rows("cpp-script", CPPCHECK,
     ("right", "ok", "long long f(long long x) { return 2 * x; }"), ("wrong", "wrong_answer", "long long f(long long x) { return 4; }"), ("ndebug", "wrong_answer", "#define NDEBUG 1\n#include <cassert>\n#undef assert\n#define assert(x)\nlong long f(long long x) { return 4; }"), ("handler", "wrong_answer", "#include <csignal>\n#include <cstdlib>\nstatic int x = (signal(SIGABRT, [](int) { _Exit(0); }), 0);\nlong long f(long long x) { return 4; }"),
     ("exit", "early_exit", "#include <cstdlib>\nlong long f(long long x) { exit(0); }"), ("ctor", "early_exit", "#include <unistd.h>\nstatic int x = (_exit(0), 0);\nlong long f(long long x) { return 4; }"), ("atexit", "early_exit", "#include <cstdlib>\n#include <unistd.h>\nlong long f(long long x) { atexit([] { _exit(0); }); exit(0); }"),
     ("assert-fail", "wrong_answer compile_error", "extern \"C\" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept { }\nlong long f(long long x) { return 4; }"), ("throw", "crash", "long long f(long long x) { throw 1; }"))


# Programs that race with limits, or with themselves: they end in one of several ways.
RACES = {name for name, _, statuses, _ in ROWS if len(statuses) > 1}

# Without namespaces some things are refused that are harmless in them.
LANDLOCK = {"python-hostile/daemon": "crash", "python-hostile/inodes": "output_limit", "python-hostile/directories": "output_limit",
            "python-hostile/unreadable-dir": "crash", "python-hostile/state-between-cases": "crash"}
# Of an ordinary user, whose processes the kernel cannot tell from those of a program.
ORDINARY_USER = ["python-hostile/" + name for name in (
    "fork-bomb thread-bomb daemon holder kill-all kill-parent ptrace network passwd host-files disk inodes directories unreadable-dir "
    "shm-between-cases raise-priority setuid-binary").split()] + ["cpp-hostile/" + name for name in "fork kill socket ignore".split()] + [
    "python-right/" + name for name in "input thread pool process-pool temp-file".split()] + ["python-wrong/forks-burn", "python-wrong/memory-children"]


def records(wanted=lambda name: True):
    """One record a task, so that a line has many rollouts; ids of the rows in order."""
    grouped = {}
    for name, task, statuses, turn in ROWS:
        if not wanted(name):
            continue
        grouped.setdefault(name.split("/")[0], (task, []))[1].append((name, statuses, turn))
    lines, names = [], []
    for group, (task, entries) in grouped.items():
        # Long groups in several lines, so that lines run beside each other.
        for at in range(0, len(entries), 12):
            part = entries[at : at + 12]
            lines.append({"id": f"{group}:{at}", "task": task, "rollouts": [{"turns": [dict(t)]} for _, _, t in part]})
            names += [(name, statuses) for name, statuses, _ in part]
    return lines, names


def verify(lines, watch, *flags, command=(BIN / "leap-verify",)):
    """The verdicts, in order."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    done = subprocess.run([*command, *flags], input=text, capture_output=True, timeout=900, env=watch.environment)
    if done.returncode or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stderr.decode()}")
    return [r["turns"][-1]["verdict"] for line in done.stdout.splitlines() for r in json.loads(line)["rollouts"]]


class Judge(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        lines, cls.names = records()
        cls.flags = flags_here(BIN / "leap-verify")
        watch = Watch()
        # Beside each other: neither keeps all cores busy.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = {jobs: pool.submit(verify, lines, watch, "-j%d" % jobs) for jobs in (4, 1)}
            cls.runs = {jobs: run.result() for jobs, run in runs.items()}
        cls.left = watch.left()
        watch.close()

    def test_statuses(self):
        for jobs, verdicts in self.runs.items():
            wrong = [(name, v["status"], statuses, v["feedback"]) for (name, statuses), v in zip(self.names, verdicts)
                     if v["status"] not in [*statuses, LANDLOCK.get(name) if self.flags else None]]
            self.assertEqual(wrong, [], f"-j{jobs}")

    def test_feedback_keeps_what_is_hidden(self):
        for (name, _), verdict in zip(self.names, self.runs[4]):
            words = json.dumps({k: v for k, v in verdict.items() if k != "measured"})
            with self.subTest(name):
                self.assertNotIn(SECRET, words)
                self.assertNotIn(str(11 + int(SECRET)), words)
                if not (self.flags and name in LANDLOCK):  # those words are the program's own, of what is forbidden there
                    self.assertNotIn("/tmp", words)
                self.assertNotIn("/work", words)
                self.assertNotIn("leap_driver", words)
                self.assertLessEqual(len(verdict["feedback"].encode()), 2100)

    def test_cheats_are_named(self):
        for (name, statuses), verdict in zip(self.names, self.runs[4]):
            if verdict["status"] == "sandbox_violation":
                self.assertTrue(verdict["cheat"], name)
            if statuses == ["ok"]:
                self.assertFalse(verdict["cheat"], name)
            self.assertNotIn("harness", verdict["flags"], name)

    def test_jobs_change_nothing(self):
        for (name, _), one, four in zip(self.names, self.runs[1], self.runs[4]):
            if name not in RACES:
                with self.subTest(name):
                    self.assertEqual({**one, "measured": None}, {**four, "measured": None})

    def test_nothing_is_left(self):
        self.assertEqual(self.left, [])


class WithoutNamespaces(unittest.TestCase):
    """Landlock, filters and limits: the hostile programs, and all that start processes."""

    def check(self, lines, names, *command):
        watch = Watch()
        verdicts = verify(lines, watch, "-j4", "--sandbox", "landlock", command=command)
        self.assertEqual(watch.left(), [])
        watch.close()
        wrong = [(name, v["status"], statuses, v["feedback"]) for (name, statuses), v in zip(names, verdicts)
                 if v["status"] not in [*statuses, LANDLOCK.get(name)]]
        self.assertEqual(wrong, [])
        for (name, _), verdict in zip(names, verdicts):
            self.assertEqual(verdict["flags"], ["landlock"], name)
            self.assertNotIn(SECRET, json.dumps({**verdict, "measured": None}), name)

    def test_hostile(self):
        self.check(*records(lambda name: "hostile" in name or name in ORDINARY_USER), BIN / "leap-verify")

    @unittest.skipIf(os.geteuid() != 0, "this user is an ordinary one")
    def test_ordinary_user(self):
        watch = Watch()
        tool = pathlib.Path(watch.folder, "leap-verify")
        shutil.copy(BIN / "leap-verify", tool)
        # A bomb that escaped would be stopped here.
        self.check(*records(lambda name: name in ORDINARY_USER), "setpriv", "--reuid=54321", "--regid=54321", "--clear-groups",
                   "--inh-caps=-all", "--bounding-set=-all", "prlimit", "--nproc=600", tool)
        tool.unlink()
        watch.close()


class Leftovers(unittest.TestCase):
    def test_are_seen(self):
        watch = Watch()
        libc = ctypes.CDLL(None)
        subprocess.run(["sh", "-c", "sleep 1000 & echo x > $TMPDIR/file"], env=watch.environment, check=True)
        pathlib.Path(f"/dev/shm/leap-test-{os.getpid()}").touch()
        segment = libc.shmget(0, 4096, 0o1600)
        left = watch.left(0)
        pid = next(int(x.split()[1][:-1]) for x in left if x.startswith("process"))
        os.kill(pid, 9)
        pathlib.Path(f"/dev/shm/leap-test-{os.getpid()}").unlink()
        libc.shmctl(segment, 0, None)
        self.assertRegex("\n".join(left), rf"^process \d+: .*sleep 1000.*\nfile {watch.folder}/file\n/dev/shm/leap-test-\d+\nshm 0 {segment}$")
        pathlib.Path(watch.folder, "file").unlink()
        self.assertEqual(watch.left(), [])
        watch.close()


if __name__ == "__main__":
    unittest.main(argv=["judge_test", *sys.argv[1:]])
