#!/usr/bin/env python3
"""leap-verify on a stdio suite (50 problems x 30 tests) against `python3 prog.py` started for each test, two at a time.

Prints one line of JSON: tests per second of both (medians of rounds that take turns), CPU milliseconds a test, their
ratios, and the machine's load before and after. The line is also added to a file, BUILD/bench/verify.jsonl.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import resource
import statistics
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


def keep(bin_folder, line):
    """Prints a result and adds it to what earlier runs found."""
    print(json.dumps(line))
    folder = pathlib.Path(bin_folder).resolve().parent / "bench"
    folder.mkdir(exist_ok=True)
    with open(folder / "verify.jsonl", "a") as file:
        file.write(json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%S"), **line}) + "\n")


def timed(work):
    """Seconds and CPU seconds that `work` and its processes take."""
    def used():
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    start, cpu = time.monotonic(), used()
    work()
    return time.monotonic() - start, used() - cpu


def compare(peer, ours, rounds, count):
    """Medians of rounds that take turns, as fields of a result; `count` things are done a round."""
    times = [(timed(peer), timed(ours)) for _ in range(rounds)]
    (peer_s, peer_cpu_s), (our_s, our_cpu_s) = ([statistics.median(one[who][what] for one in times) for what in (0, 1)]
                                                for who in (0, 1))
    return {"leap_verify_per_s": round(count / our_s, 1), "peer_per_s": round(count / peer_s, 1),
            "ratio": round(peer_s / our_s, 2), "leap_verify_cpu_ms": round(our_cpu_s / count * 1e3, 3),
            "peer_cpu_ms": round(peer_cpu_s / count * 1e3, 3), "cpu_ratio": round(peer_cpu_s / our_cpu_s, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    load = os.getloadavg()[0]
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

        def peer():
            with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
                list(pool.map(one, [(k, case) for k, (_, cases) in enumerate(problems) for case in cases]))

        def ours():
            done = subprocess.run([os.path.join(options.bin, "leap-verify"), "-j2", source], capture_output=True, check=True)
            assert done.stdout.count(b'"status":"ok"') == PROBLEMS

        result = compare(peer, ours, options.rounds, PROBLEMS * TESTS)
    keep(options.bin, {"bench": "verify_stdio", **result, "load": [load, os.getloadavg()[0]]})


if __name__ == "__main__":
    main()
