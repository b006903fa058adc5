#!/usr/bin/env python3
"""Many small decompositions in a row: memory stays flat and nothing is left behind. `cmake --build build --target soak-decomp`."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

BIN = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 10000


def line(i):
    f = ["def f(x):\n    return x + %d" % i, "def f(x):\n    return x * %d" % (i % 7), "def f(x):\n    raise ValueError(x)"]
    g = ["def g(x):\n    return [x] * 3", "import os\ndef g(x):\n    return [x, x, x]" if i % 20 == 0 else "def g(x):\n    return [x, x, x]",
         "def g(x):\n    return x.y" if i % 3 else "N = []\ndef g(x):\n    N.append(x)\n    return N * 3"]
    functions = [{"name": name, "signature": "", "doc": "", "implementations": [{"code": code} for code in group]} for name, group in (("f", f), ("g", g))]
    task = {"language": "python", "check": {"type": "stdio", "cases": [{"stdin": "4", "stdout": str([4 + i] * 3)}]}}
    return json.dumps({"id": str(i), "prompt": "", "task": task, "decompositions": [{"functions": functions, "main": "print(g(f(int(input()))))"}]}) + "\n"


def tree(pid):
    """(pid, resident kB, open files) of a process and all below it."""
    out = []
    try:
        with open("/proc/%d/statm" % pid) as file:
            out.append((pid, int(file.read().split()[1]) * 4, len(os.listdir("/proc/%d/fd" % pid))))
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            children = [int(child) for child in file.read().split()]
        for task in os.listdir("/proc/%d/task" % pid):
            if int(task) != pid:
                with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                    children += [int(child) for child in file.read().split()]
        for child in children:
            out += tree(child)
    except (OSError, ValueError):
        pass
    return out


def main():
    folder = tempfile.mkdtemp(prefix="soak-")
    tool = subprocess.Popen([os.path.join(BIN, "decomp-recombine"), "-j2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env=dict(os.environ, TMPDIR=folder))

    def feed():
        for i in range(COUNT):
            tool.stdin.write(line(i))
        tool.stdin.close()

    threading.Thread(target=feed, daemon=True).start()
    begin, marks, solved = time.time(), [], 0
    for done, text in enumerate(tool.stdout, 1):
        recombination = json.loads(text)["decompositions"][0]["recombination"]
        assert recombination["evaluated"] == 9, recombination
        solved += recombination["solved"]
        if done % max(1, COUNT // 10) == 0:
            processes = tree(tool.pid)
            marks.append(sum(kb for _, kb, _ in processes))
            print("%d decompositions, %.0f s, %d processes, %d kB, %d open files of the tool" % (
                done, time.time() - begin, len(processes), marks[-1], processes[0][2] if processes else 0), flush=True)
    assert tool.wait() == 0
    os.rmdir(folder)  # empty
    assert solved >= 2 * COUNT, solved
    assert marks[-1] < 1.25 * marks[2] + 20000, "memory grows: %s" % marks
    print("flat")


main()
