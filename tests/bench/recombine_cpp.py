#!/usr/bin/env python3
"""decomp-recombine on a C++ decomposition (4 functions x 5 implementations: 625 programs, 10 tests) against compiling each program
and running it on each test as a subprocess.

The second is measured on a sample of the programs and scaled. Prints one line of JSON: CPU seconds of both, compiling included,
their ratio, whether all sampled programs have the same outcomes, and the machine's load before and after. Both run all tests.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import resource
import subprocess
import tempfile

PREAMBLE = """#include <bits/stdc++.h>
using namespace std;
vector<long long> read_numbers();
vector<long long> keep_distinct(vector<long long> a);
long long best_sum(const vector<long long>& a);
string show_sum(long long s);"""
MAIN = "int main() {\n  cout << show_sum(best_sum(keep_distinct(read_numbers()))) << endl;\n}"
READ = "vector<long long> read_numbers() {\n%s\n}"
KEEP = "vector<long long> keep_distinct(vector<long long> a) {\n%s\n}"
BEST = "long long best_sum(const vector<long long>& a) {\n%s\n}"
SHOW = "string show_sum(long long s) {\n%s\n}"
FUNCTIONS = {
    "read_numbers": [READ % body for body in (
        "  int n;\n  cin >> n;\n  vector<long long> a(n);\n  for (auto& x : a) cin >> x;\n  return a;",
        "  int n;\n  scanf(\"%d\", &n);\n  vector<long long> a;\n  while (n-- > 0) { long long x; scanf(\"%lld\", &x); a.push_back(x); }\n  return a;",
        "  long long x;\n  vector<long long> a;\n  cin >> x;\n  while (cin >> x) a.push_back(x);\n  return a;",
        "  int n;\n  cin >> n;\n  vector<long long> a(n);\n  for (int i = 1; i < n; ++i) cin >> a[i];\n  return a;",
        "  vector<long long> a;\n  long long x;\n  while (cin >> x) a.push_back(x);\n  return a;")],
    "keep_distinct": [KEEP % body for body in (
        "  vector<long long> out;\n  set<long long> seen;\n  for (long long x : a) if (seen.insert(x).second) out.push_back(x);\n  return out;",
        "  vector<long long> out;\n  for (long long x : a) if (find(out.begin(), out.end(), x) == out.end()) out.push_back(x);\n  return out;",
        "  sort(a.begin(), a.end());\n  a.erase(unique(a.begin(), a.end()), a.end());\n  return a;",
        "  a.erase(unique(a.begin(), a.end()), a.end());\n  return a;",
        "  unordered_map<long long, int> seen;\n  vector<long long> out;\n  for (long long x : a) if (!seen[x]++) out.push_back(x);\n  return out;")],
    "best_sum": [BEST % body for body in (
        "  long long best = LLONG_MIN, now = 0;\n  for (long long x : a) { now = max(now + x, x); best = max(best, now); }\n  return best;",
        "  long long best = 0, now = 0;\n  for (long long x : a) { now = max(0LL, now + x); best = max(best, now); }\n  return best;",
        "  long long best = a.at(0);\n  for (size_t i = 0; i < a.size(); ++i) {\n    long long s = 0;\n    for (size_t j = i; j < a.size(); ++j) best = max(best, s += a[j]);\n  }\n  return best;",
        "  long long best = a.at(1), low = 0, sum = 0;\n  for (long long x : a) { sum += x; best = max(best, sum - low); low = min(low, sum); }\n  return best;",
        "  return accumulate(a.begin(), a.end(), 0LL);")],
    "show_sum": [SHOW % body for body in (
        "  return to_string(s);", "  ostringstream out;\n  out << s;\n  return out.str();", "  return \"sum: \" + to_string(s);",
        "  char text[32];\n  snprintf(text, sizeof text, \"%lld\", s);\n  return text;",
        "  if (s == 0) return \"0\";\n  string out;\n  for (long long t = s < 0 ? -s : s; t; t /= 10) out += char('0' + t % 10);\n"
        "  if (s < 0) out += '-';\n  reverse(out.begin(), out.end());\n  return out;")],
}


def cpu_s():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def inputs():
    draw = random.Random(5)
    for t in range(10):
        numbers = [draw.randint(-20 - 30 * t, 25 + 20 * t) for _ in range(3 + 4 * t)]
        yield "%d\n%s\n" % (len(numbers), " ".join(map(str, numbers)))


def compile_whole(folder, choice):
    text = "\n".join([PREAMBLE] + [group[j] for group, j in zip(FUNCTIONS.values(), choice)] + [MAIN])
    (folder / "program.cpp").write_text(text)
    subprocess.run(["g++", "-std=gnu++17", "-O2", "-w", "-o", folder / "program", folder / "program.cpp"], check=True)


def outcomes(folder, cases):
    out = ""
    for stdin, stdout in cases:
        run = subprocess.run([folder / "program"], input=stdin, text=True, capture_output=True)
        out += "E" if run.returncode else "P" if run.stdout.split() == stdout.split() else "W"
    return out


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--bin", type=pathlib.Path, required=True)
    options.add_argument("--sample", type=int, default=10, help="programs that are compiled as a whole")
    options.add_argument("--mode", default="auto")
    options = options.parse_args()
    load = [os.getloadavg()[0]]
    every = list(itertools.product(*(range(len(group)) for group in FUNCTIONS.values())))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compile_whole(folder, (0, 0, 0, 0))
        cases = [(s, subprocess.run([folder / "program"], input=s, text=True, capture_output=True).stdout) for s in inputs()]
        sample = random.Random(1).sample(every, options.sample)
        before = cpu_s()
        want = {}
        for choice in sample:
            compile_whole(folder, choice)
            want[choice] = outcomes(folder, cases)
        peer_s = (cpu_s() - before) / len(sample) * len(every)
    functions = [{"name": name, "signature": "", "doc": "", "implementations": [{"code": code} for code in group]}
                 for name, group in FUNCTIONS.items()]
    record = {"id": "sums", "prompt": "", "task": {"language": "cpp", "standard": "gnu++17", "check": {
        "type": "stdio", "cases": [{"stdin": a, "stdout": b} for a, b in cases]}},
        "decompositions": [{"preamble": PREAMBLE, "functions": functions, "main": MAIN}]}
    command = [options.bin / "decomp-recombine", "--mode", options.mode, "--boxes", "all", "--outcomes"]
    before = cpu_s()
    run = subprocess.run(command, input=json.dumps(record) + "\n", text=True, capture_output=True, check=True)
    own_s = cpu_s() - before
    result = json.loads(run.stdout)["decompositions"][0]["recombination"]
    boxes = [(box["choice"], box["outcomes"]) for box in result["boxes"]]

    def found(choice):
        return next(o for c, o in boxes if all(a in (-1, b) for a, b in zip(c, choice)))

    load.append(os.getloadavg()[0])
    print(json.dumps({"bench": "recombine_cpp", "programs": len(every), "tests": len(cases), "mode": result["mode"],
                      "runs": result["measured"]["runs"], "cpu_s": round(own_s, 2), "whole_cpu_s": round(peer_s, 1),
                      "ratio": round(peer_s / own_s, 1), "same": all(found(c) == o for c, o in want.items()),
                      "sampled": len(sample), "load": [round(x, 1) for x in load]}))


main()
