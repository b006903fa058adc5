#!/usr/bin/env python3
"""leap-verify on a stdio suite (50 problems x 30 tests) against `python3 prog.py` started for each test, two at a time.

Prints one line of JSON: tests per second of both, their ratio, and the machine's load.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import time

PROBLEMS, TESTS = 50, 30
PROGRAM = """import sys
def main():
    n, *numbers = map(int, sys.stdin.read().split())
    print(sum(x %% %d for x in numbers[:n]))
if __name__ == "__main__":
    main()
"""


def suite():
    """(program, [(stdin, stdout)]) of each problem."""
    for k in range(2, PROBLEMS + 2):
        cases = []
        for t in range(TESTS):
            numbers = [(k * 7919 + t * 104729 + i * i) % 1000003 for i in range(10 + t)]
            cases.append(("%d\n%s\n" % (len(numbers), " ".join(map(str, numbers))), "%d\n" % sum(x % k for x in numbers)))
        yield PROGRAM % k, cases


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    options = parser.parse_args()
    problems = list(suite())
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "suite.jsonl")
        with source.open("w") as file:
            for k, (code, cases) in enumerate(problems):
                check = {"type": "stdio", "cases": [{"stdin": i, "stdout": o} for i, o in cases]}
                record = {"id": str(k), "task": {"language": "python", "check": check}, "rollouts": [{"turns": [{"code": code}]}]}
                file.write(json.dumps(record) + "\n")
                pathlib.Path(folder, f"{k}.py").write_text(code)

        def one(job):
            k, (given, want) = job
            done = subprocess.run(["/usr/bin/python3", f"{folder}/{k}.py"], input=given, capture_output=True, text=True, check=True)
            assert done.stdout == want

        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(one, [(k, case) for k, (_, cases) in enumerate(problems) for case in cases]))
        peer = time.monotonic() - start
        start = time.monotonic()
        done = subprocess.run([os.path.join(options.bin, "leap-verify"), "-j2", source], capture_output=True, check=True)
        ours = time.monotonic() - start
        assert done.stdout.count(b'"status":"ok"') == PROBLEMS
    count = PROBLEMS * TESTS
    print(json.dumps({"bench": "verify_stdio", "leap_verify_per_s": round(count / ours, 1), "python_per_s": round(count / peer, 1),
                      "ratio": round(peer / ours, 2), "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
