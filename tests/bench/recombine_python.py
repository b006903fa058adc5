#!/usr/bin/env python3
"""CPU of decomp-recombine on whole decompositions against `python3 prog.py` for each program and test (a sample of them,
scaled to all). Prints a line of JSON a problem: ratios of the same run, and the machine's load."""
import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import tempfile

from recombine_problems import PROBLEMS, program, record

parser = argparse.ArgumentParser()
parser.add_argument("--bin", default="build/bin")
parser.add_argument("--sample", type=int, default=40, help="programs that brute force runs")
ARGS = parser.parse_args()
BIN, SAMPLE = ARGS.bin, ARGS.sample


def cpu_of(command, **kwargs):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, **kwargs)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def brute(problem, choice, expected, first_failure):
    """(letters, CPU) of one program."""
    letters, total = "", 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prog.py")
        with open(path, "w") as file:
            file.write(program(problem, choice))
        for stdin, want in zip(problem["stdin"], expected):
            cpu_s, done = cpu_of(["/usr/bin/python3", path], input=stdin, capture_output=True, text=True,
                                 env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"})
            total += cpu_s
            letters += "C" if "SyntaxError" in done.stderr else "E" if done.returncode else "P" if done.stdout.split() == want.split() else "W"
            if first_failure and letters[-1] != "P":
                break
    return letters, total


def recombine(line, *flags):
    cpu_s, done = cpu_of([os.path.join(BIN, "decomp-recombine"), "--boxes", "all", *flags], input=json.dumps(line) + "\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return cpu_s, json.loads(done.stdout)["decompositions"][0]["recombination"]


def covers(box, choice):
    return all(j in (-1, i) for j, i in zip(box["choice"], choice))


def main():
    for make in PROBLEMS:
        problem = make()
        sizes = [len(group) for _, group in problem["functions"]]
        expected = [subprocess.run(["/usr/bin/python3", "-c", program(problem, [0] * len(sizes))], input=stdin, capture_output=True, text=True,
                                   check=True).stdout for stdin in problem["stdin"]]
        line = record(problem, expected)
        every = list(itertools.product(*map(range, sizes)))
        sample = random.Random(1).sample(every, SAMPLE)
        full = {choice: brute(problem, choice, expected, False) for choice in sample}
        first = {choice: brute(problem, choice, expected, True)[1] for choice in sample}
        all_s, all_out = recombine(line, "--outcomes")
        first_s, _ = recombine(line)
        some_s, _ = recombine(line, "--programs", "512", "--outcomes")
        wrong = sum(next(box for box in all_out["boxes"] if covers(box, choice))["outcomes"] != letters for choice, (letters, _) in full.items())
        scale = len(every) / SAMPLE
        brute_s, brute_first_s = scale * sum(cpu for _, cpu in full.values()), scale * sum(first.values())
        print(json.dumps({
            "bench": "recombine_python", "problem": problem["id"], "programs": len(every), "tests": len(expected),
            "mode": all_out["mode"], "runs": all_out["measured"]["runs"], "sampled_for_brute_force": SAMPLE, "of_these_different": wrong,
            "cpu_s": {"all_outcomes": round(all_s, 3), "first_failure": round(first_s, 3), "512_programs": round(some_s, 3)},
            "brute_cpu_s": {"all_outcomes": round(brute_s, 1), "first_failure": round(brute_first_s, 1)},
            "times_less": {"all_outcomes": round(brute_s / all_s), "first_failure": round(brute_first_s / first_s),
                           "512_programs": round(brute_s * 512 / len(every) / some_s)},
            "load": os.getloadavg()[0]}), flush=True)


main()
