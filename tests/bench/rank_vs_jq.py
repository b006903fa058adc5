#!/usr/bin/env python3
"""leap-rank against `jq -c .` on one file of realistic lines: 16 rollouts, 3 turns, ids and log-probs.

Prints one line of JSON: seconds of both (medians of the rounds), their ratio, MB/s, and the machine's load.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time


def numbers(rng, count, low, high):
    return "[" + ", ".join(str(rng.randint(low, high)) for _ in range(count)) + "]"


def record(rng, index):
    """One line of 3-4 MB: later prompts hold the conversation so far."""
    code = "def solve(xs):\n    total = 0\n    for x in xs:\n        total += x  # \u00e9\n    return total\n"
    rollouts = []
    for _ in range(16):
        turns, prompt = [], 400
        for _ in range(3):
            length = rng.randint(1200, 2000)
            logprobs = "[" + ", ".join(f"{-rng.random():.6f}" for _ in range(length)) + "]"
            verdict = {"status": rng.choice(["ok", "wrong_answer", "timeout"]), "cheat": False, "passed": 3, "total": 10,
                       "feedback": "case 2: expected 4, got 5\n" * 8, "measured": {"wall_s": 0.25}}
            turns.append('{"completion": %s, "prompt_ids": %s, "completion_ids": %s, "logprobs": %s, "finish_reason": "stop", '
                         '"code": %s, "verdict": %s}' % (json.dumps(code * (length // 30)), numbers(rng, prompt, 0, 49151),
                                                         numbers(rng, length, 0, 49151), logprobs, json.dumps(code),
                                                         json.dumps(verdict)))
            prompt += length + 120
        rollouts.append('{"turns": [' + ", ".join(turns) + '], "state": "open"}')
    return '{"id": "bench/%d", "prompt": "p", "rollouts": [%s]}\n' % (index, ", ".join(rollouts))


def seconds(command, source):
    start = time.monotonic()
    with open(source, "rb") as stdin:
        subprocess.run(command, stdin=stdin, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--mb", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "in.jsonl")
        with open(source, "w", encoding="utf-8") as out:
            index = 0
            while out.tell() < options.mb * 1_000_000:
                out.write(record(rng, index))
                index += 1
        size = source.stat().st_size / 1e6
        ours, peer = [], []
        for _ in range(options.rounds):
            peer.append(seconds(["jq", "-c", "."], source))
            ours.append(seconds([os.path.join(options.bin, "leap-rank"), "-j2"], source))
    a, b = statistics.median(ours), statistics.median(peer)
    print(json.dumps({"bench": "rank_vs_jq", "mb": round(size), "leap_rank_s": round(a, 2), "jq_s": round(b, 2),
                      "ratio": round(b / a, 2), "leap_rank_mb_per_s": round(size / a), "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
