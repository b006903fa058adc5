#!/usr/bin/env python3
"""Very many verifications in one run of leap-verify: right, wrong, hostile. Memory and open files of the tool and of its workers
stay flat, every verdict is the right one, and no process, file, namespace or shared memory is left.
usage: verify_soak.py BUILD/bin [verifications]; `cmake --build build --target soak-verify`."""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from leftovers import Watch  # noqa: E402

BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
GROUP = 10  # rollouts a record
LIMITS = {"cpu_s": 0.2, "wall_s": 20, "memory_mb": 256, "output_kb": 64}
READ = "a, b = map(int, input().split())\n"

STDIO = {"language": "python", "limits": LIMITS, "check": {"type": "stdio", "cases": [{"stdin": "1 2\n", "stdout": "3\n"}]}}
CALL = {"language": "python", "limits": LIMITS, "entry_point": "f", "check": {"type": "call", "cases": [{"args": [[2, 1]], "expect": [1, 2]}]}}
SCRIPT = {"language": "python", "limits": LIMITS, "entry_point": "f",
          "check": {"type": "script", "call": "check", "code": "def check(c):\n    assert c(2) == 4\n    assert c(3) == 6\n"}}
CPP = {"language": "cpp", "limits": {**LIMITS, "cpu_s": 2}, "check": STDIO["check"]}

# (task, how many of a thousand, statuses that are right, program)
MIX = [
    (STDIO, 180, "ok", READ + "print(a + b)"),
    (STDIO, 120, "wrong_answer", READ + "print(a - b)"),
    (STDIO, 80, "crash", READ + "print(a // 0)"),
    (STDIO, 40, "compile_error", "print(1"),
    (STDIO, 20, "crash", "import os\nos.kill(os.getpid(), 11)"),
    (STDIO, 20, "ok", READ + "open('/tmp/x', 'w').write('x' * 9999)\nopen('/dev/shm/x', 'w').write('x')\nprint(a + b)"),
    (STDIO, 20, "no_output", "import os\nfor i in range(3):\n    if os.fork() == 0:\n        import time\n        time.sleep(99)"),
    (STDIO, 10, "no_output", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(99)"),
    (STDIO, 10, "no_output wrong_answer", "import threading\nfor i in range(99):\n    try: threading.Thread(target=threading.Event().wait, daemon=True).start()\n    except RuntimeError: break"),
    (STDIO, 10, "output_limit", "while True: print('x' * 4096)"),
    (STDIO, 5, "out_of_memory", "x = bytearray(1 << 29)"),
    (STDIO, 3, "timeout", "while True: pass"),
    (STDIO, 2, "timeout", "import os\nos.fork()\nwhile True: pass"),
    (CALL, 140, "ok", "def f(a): return sorted(a)"),
    (CALL, 60, "wrong_answer", "def f(a): return a"),
    (CALL, 20, "early_exit", "import os\ndef f(a): os._exit(0)"),
    (CALL, 10, "sandbox_violation", "import os\nos.write(4, b'x' * 99)\ndef f(a): return [1, 2]"),
    (SCRIPT, 150, "ok", "def f(x): return 2 * x"),
    (SCRIPT, 79, "wrong_answer", "def f(x): return 4"),
    (SCRIPT, 20, "crash", "def f(x): return x.y"),
    (CPP, 1, "ok", "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }"),
]
assert sum(share for _, share, _, _ in MIX) == 1000


def kind_of(i):
    """Which of the mix verification i is; all are met early."""
    at = i * 389 % 1000
    for entry in MIX:
        at -= entry[1]
        if at < 0:
            return entry
    raise AssertionError(i)


def records():
    """Lines, and for each what its verdicts must be. A record holds one kind of program, each text once."""
    waiting = {}
    for i in range(COUNT):
        task, _, statuses, code = kind_of(i)
        mark = "// %d\n" if task is CPP else "# %d\n"
        group = waiting.setdefault(code, [])
        group.append({"turns": [{"code": mark % i + code}]})
        if len(group) == GROUP:
            yield task, statuses, waiting.pop(code)
    for code, group in waiting.items():
        task, _, statuses, _ = next(entry for entry in MIX if entry[3] == code)
        yield task, statuses, group


def tree(pid):
    """Pids of a process and all below it."""
    out = [pid]
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                for child in file.read().split():
                    out += tree(int(child))
    except OSError:
        pass
    return out


def look(tool):
    """Resident kB and open files of the tool and of its workers, and their number of namespaces. Workers run children all the
    time: the least of several looks counts."""
    looks = []
    for _ in range(15):
        rss = files = 0
        spaces = set()
        try:
            with open("/proc/%d/statm" % tool) as file:
                own = int(file.read().split()[1]) * 4
            own_files = len(os.listdir("/proc/%d/fd" % tool))
        except OSError:
            break
        for pid in tree(tool)[1:]:
            try:
                with open("/proc/%d/statm" % pid) as file:
                    rss += int(file.read().split()[1]) * 4
                files += len(os.listdir("/proc/%d/fd" % pid))
                spaces |= {os.readlink("/proc/%d/ns/%s" % (pid, kind)) for kind in ("pid", "mnt", "net", "ipc", "user")}
            except OSError:
                pass
        looks.append((own, rss, own_files, files, len(spaces)))
        time.sleep(0.02)
    return [min(column) for column in zip(*looks)]


def main():
    watch = Watch()
    begin, load = time.time(), os.getloadavg()[0]
    tool = subprocess.Popen([BIN / "leap-verify", "-j2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env=watch.environment)
    expected = []

    def feed():
        for n, (task, statuses, rollouts) in enumerate(records()):
            expected.append(statuses.split())
            tool.stdin.write(json.dumps({"id": str(n), "prompt": "", "task": task, "rollouts": rollouts}) + "\n")
        tool.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    marks, wrong, done, seen, mark = [], [], 0, {}, max(1, COUNT // 10)
    for n, text in enumerate(tool.stdout):
        for rollout in json.loads(text)["rollouts"]:
            verdict = rollout["turns"][0]["verdict"]
            seen[verdict["status"]] = seen.get(verdict["status"], 0) + 1
            done += 1
            if verdict["status"] not in expected[n] or "harness" in verdict["flags"]:
                wrong.append((expected[n], verdict["status"], verdict["flags"], rollout["turns"][0]["code"]))
                print("WRONG", wrong[-1], flush=True)
        if done // mark > len(marks):
            found = look(tool.pid)
            if not found:
                continue
            marks.append(found)
            print("%d verifications, %.0f s, load %.1f: tool %d kB, workers %d kB, open files %d and %d, %d namespaces" % (
                done, time.time() - begin, os.getloadavg()[0], *marks[-1]), flush=True)
    status = tool.wait()
    left = watch.left(20)
    print(json.dumps({"verifications": done, "seconds": round(time.time() - begin), "load": [load, os.getloadavg()[0]], "statuses": seen}))
    assert status == 0, status
    assert done == COUNT, done
    assert not wrong, "%d verdicts are wrong" % len(wrong)
    assert left == [], left
    watch.close()
    for what, column, spare in (("memory of the tool", 0, 20000), ("memory of the workers", 1, 40000), ("files of the tool", 2, 20),
                                ("files of the workers", 3, 20), ("namespaces", 4, 10)):
        values = [found[column] for found in marks]
        assert values[-1] <= 1.1 * values[len(values) // 4] + spare, "%s: %s" % (what, values)
    print("flat, nothing left")


if __name__ == "__main__":
    main()
