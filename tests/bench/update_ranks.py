#!/usr/bin/env python3
"""Tokens a second of rl-update in two processes of one thread each, against one process of one thread: same model, same
batch, full fine-tuning in float32.

Usage: update_ranks.py RL_UPDATE MODEL [--sequences N] [--tokens N] [--rounds N]
The second step of each run counts; of several rounds the fastest. Two cores must be free for the figure to mean anything.
"""
import argparse
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def run(command, processes):
    """The metrics of the last step."""
    env = dict(os.environ, OMP_NUM_THREADS="1", WORLD_SIZE=str(processes), MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    children = [subprocess.Popen(command, env=dict(env, RANK=str(rank)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
                for rank in range(processes)]
    printed = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        sys.exit(f"rl-update: exits {[child.returncode for child in children]}")
    return json.loads(printed[0].splitlines()[-1])["measured"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--sequences", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=128, help="of a sequence")
    parser.add_argument("--rounds", type=int, default=2)
    a = parser.parse_args()
    vocabulary = json.loads((a.model / "config.json").read_text())["vocab_size"]
    rng, best = random.Random(1), {}
    with tempfile.TemporaryDirectory(prefix="leap-bench-") as scratch:
        source = pathlib.Path(scratch, "in.jsonl")
        with source.open("w") as out:
            for number in range(2 * a.sequences):
                ids = [rng.randrange(vocabulary) for _ in range(a.tokens)]
                out.write(json.dumps({"id": str(number), "prompt": "", "solutions": [
                    {"prompt_ids": ids[:a.tokens // 4], "completion_ids": ids[a.tokens // 4:]}]}) + "\n")
        command = [a.program, "--loss", "sft", "--model", str(a.model), "--records-per-step", str(a.sequences),
                   "--save-steps", "0", "--out", str(pathlib.Path(scratch, "out")), str(source)]
        for _ in range(a.rounds):
            for processes in (1, 2):
                measured = run(command, processes)
                if processes not in best or measured["tokens_per_s"] > best[processes]["tokens_per_s"]:
                    best[processes] = measured
                subprocess.run(["rm", "-rf", str(pathlib.Path(scratch, "out"))], check=True)
    one, two = best[1], best[2]
    print(json.dumps({"bench": "update_ranks", "tokens_per_step": a.sequences * a.tokens,
                      "one_tokens_per_s": round(one["tokens_per_s"], 1), "two_tokens_per_s": round(two["tokens_per_s"], 1),
                      "ratio": round(two["tokens_per_s"] / one["tokens_per_s"], 2),
                      "one_peak_mb": round(one["peak_memory_mb"]), "two_peak_mb_of_rank_0": round(two["peak_memory_mb"]),
                      "load": [round(x, 2) for x in os.getloadavg()]}))


if __name__ == "__main__":
    main()
