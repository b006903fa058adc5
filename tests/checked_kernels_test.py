"""The checked build of CUDA on the CPU: every seeded fault is found at its line, no correct kernel is reported.

Both in several orders of threads and blocks. Usage: checked_kernels_test.py CUDACPU_KIT [CASE..]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ORDERS = ("0", "1", "7")
RECIPE = "checked_lines"
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")


def commands(kit, *words):
    out = subprocess.run([kit, "commands", *words], check=True, capture_output=True, text=True).stdout
    return [line.strip("\t").split("\t") for line in out.splitlines()]


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def build(kit, directory, name):
    translated = subprocess.run([kit, "translate", os.path.join(HERE, name + ".cu")], capture_output=True, text=True)
    if translated.returncode:
        sys.exit(translated.stderr)
    with open(os.path.join(directory, name + ".cpp"), "w") as f:
        f.write(translated.stdout)
    for command in commands(kit, "compile", RECIPE, name + ".cpp", name + ".o"):
        run(command, directory)
    for command in commands(kit, "link", RECIPE, name, "driver.o", name + ".o"):
        run(command, directory)


def cases_of(name):
    """{case: {line: kinds}}, the marked lines that stand before each CASE and in it."""
    cases, marks, last = {}, {}, None
    with open(os.path.join(HERE, name + ".cu")) as f:
        for number, line in enumerate(f, 1):
            if line.startswith(("__global__", "template", "__device__", "__constant__", "struct", "// ---")) and last:
                last = None
            case = re.match(r"CASE\((\w+)\)", line)
            if case:
                last = case[1]
                cases[last], marks = marks, {}
            fault = re.search(r"// FAULT (.*)", line)
            if fault:
                (cases[last] if last else marks)[number] = fault[1].split()
    return cases


def reports(directory, name, case, order):
    try:
        done = subprocess.run(["./" + name, case, order], cwd=directory, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return ["timeout 0 :"]
    lines = done.stdout.splitlines()
    if done.returncode:
        lines.append(f"exit {done.returncode} : {done.stderr}")
    return lines


def judge(directory, name, case, marks, order):
    found = reports(directory, name, case, order)
    if not marks:
        return [f"{case} order {order}: {line}" for line in found]
    problems = []
    hit = False
    for line in found:
        kind, number = line.split()[:2]
        right = number.isdigit() and kind in marks.get(int(number), ())
        hit |= right
        if not right and kind != "uninitialised":
            problems.append(f"{case} order {order}: unexpected: {line}")
    if not hit:
        problems.append(f"{case} order {order}: not found: {marks}; {found}")
    return problems


def main():
    kit, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as directory:
        directory = os.environ.get("KEEP", directory)
        run([kit, "toolchain", directory], directory)
        for command in commands(kit, "prepare", RECIPE):
            run(command, directory)
        run(["g++", "-std=c++17", "-O1", "-I" + os.path.join(directory, "include"), "-c",
             os.path.join(HERE, "driver.cpp"), "-o", "driver.o"], directory)
        shutil.copy(os.path.join(HERE, "cases.h"), directory)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: build(kit, directory, name), ("faults", "correct")))
            work = [(name, case, marks, order) for name in ("faults", "correct")
                    for case, marks in cases_of(name).items() for order in ORDERS if not only or case in only]
            results = list(pool.map(lambda w: judge(directory, *w), work))
    problems = [p for r in results for p in r]
    print("\n".join(problems))
    print(f"{len(work)} runs, {sum(bool(r) for r in results)} wrong")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
