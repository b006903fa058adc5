#!/usr/bin/env python3
"""Tokens a second of leap-sample and of transformers' generate: same model, same CPU threads, float32, one run.

Usage: sampling_vs_transformers.py LEAP_SAMPLE MODEL [--batch N] [--tokens N] [--threads N] [--rounds N]
Run it with a Python that has torch and transformers. Each side is timed for one token and for N, and the difference counts,
so that start, loading and prompts do not; of several rounds the fastest. Nothing ends early: both run without end ids.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads would slow both sides on a busy machine

TEXTS = ["def add(a, b):\n    \"\"\"Add two numbers.\"\"\"", "import json\n\n\ndef read(path):", "The sum of 1 and 2 is",
         "Write a function that reverses a list and returns the largest element of it, without using max.\n"]


def without_end_ids(model, folder):
    """A copy of the model directory, by links, whose end id no model draws."""
    for path in model.iterdir():
        if path.name != "generation_config.json":
            (folder / path.name).symlink_to(path.resolve())
    (folder / "generation_config.json").write_text('{"eos_token_id": [1000000000]}')


def leap_seconds(program, model, prompts, tokens, arguments):
    lines = "".join(json.dumps({"id": str(i), "prompt": "", "prompt_ids": ids}) + "\n" for i, ids in enumerate(prompts))
    command = [program, "--model", str(model), "--max-tokens", str(tokens), "--batch-size", str(len(prompts)),
               "--threads", str(arguments.threads), "-n", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    out = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if out.returncode != 0:
        sys.exit(f"leap-sample: exit {out.returncode}: {out.stderr}")
    drawn = sum(len(json.loads(line)["rollouts"][0]["turns"][0]["completion_ids"]) for line in out.stdout.splitlines())
    assert drawn == tokens * len(prompts), drawn
    return seconds


def transformers_seconds(model, prompts, tokens):
    import torch

    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    start, cpu = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=mask, do_sample=True, temperature=1.0, top_k=0, max_new_tokens=tokens,
                             eos_token_id=None, pad_token_id=0)
    seconds = time.perf_counter() - start, time.process_time() - cpu
    assert out.shape[1] == longest + tokens, out.shape
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leap_sample")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    try:
        import torch
        from tokenizers import Tokenizer
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    prompts = [tokenizer.encode(f"# {i}\n{TEXTS[i % len(TEXTS)]}").ids for i in range(arguments.batch)]
    load = os.getloadavg()
    best = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        without_end_ids(arguments.model, folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        for _ in range(arguments.rounds):
            for tokens in (1, arguments.tokens):
                for side, seconds in (("leap", leap_seconds(arguments.leap_sample, folder, prompts, tokens, arguments)),
                                      ("transformers", transformers_seconds(model, prompts, tokens))):
                    for clock, value in zip(("wall", "cpu"), seconds):
                        key = side, tokens, clock
                        best[key] = min(value, best.get(key, value))
    count = arguments.batch * (arguments.tokens - 1)
    result = {"batch": arguments.batch, "tokens": arguments.tokens, "threads": arguments.threads}
    for clock, unit in (("wall", "s"), ("cpu", "cpu_s")):
        rate = {side: count / (best[side, arguments.tokens, clock] - best[side, 1, clock])
                for side in ("leap", "transformers")}
        result |= {f"leap_tokens_per_{unit}": round(rate["leap"], 1),
                   f"transformers_tokens_per_{unit}": round(rate["transformers"], 1),
                   "ratio" if clock == "wall" else "ratio_cpu": round(rate["leap"] / rate["transformers"], 2)}
    print(json.dumps(result | {"load_before": load, "load_after": os.getloadavg()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
