#!/usr/bin/env python3
"""Tokens a second and peak memory of full fine-tuning: rl-update against a plain PyTorch loop in float32, same model, same
records, same threads, one run.

Usage: update_vs_pytorch.py RL_UPDATE MODEL [--case equal|mixed|group ..] [--steps N] [--threads N] [--checkpointing]
Run it with a Python that has torch and transformers. The loop is the usual one: transformers' model, a padded batch with an
attention mask, torch.optim.AdamW, gradient clipping. Cases: `equal`, two sequences of 512 tokens a step; `mixed`, six of 64 to
512; `group`, four rollouts of one problem with two turns each, which share their prompts. Each step is timed; the fastest
after the first counts, in wall-clock and in CPU seconds (the fairer one on a busy machine).
"""
import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads would slow both sides on a busy machine
LENGTH = 512  # dr_grpo's constant


def sequences(case, rng):
    """[(prompt ids, completion ids, advantage)] of one step."""
    ids = lambda n: [rng.randrange(10, 49000) for _ in range(n)]
    if case == "equal":
        return [(ids(64), ids(448), 1.0) for _ in range(2)]
    if case == "mixed":
        return [(ids(n // 4), ids(n - n // 4), 1.0) for n in (64, 96, 128, 192, 320, 512)]
    out, prompt = [], ids(128)
    for i in range(4):
        first = ids(80)
        out.append((prompt, first, (-1.0) ** i))
        out.append((prompt + first + ids(40), ids(80), 0.5 * (-1.0) ** i))
    return out


def record(step, number):
    turns = [{"prompt_ids": p, "completion_ids": c, "advantage": a} for p, c, a in step]
    return json.dumps({"id": str(number), "prompt": "", "rollouts": [{"turns": turns}]}) + "\n"


def pytorch_side(arguments):
    """The loop, in a process of its own; prints what measured() returns."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(arguments.threads)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).train()
    if arguments.checkpointing:
        model.gradient_checkpointing_enable()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decayed}, {"params": others, "weight_decay": 0.0}], lr=1e-6)
    steps = []
    for line in sys.stdin:
        turns = json.loads(line)["rollouts"][0]["turns"]
        start, cpu = time.perf_counter(), time.process_time()
        longest = max(len(t["prompt_ids"]) + len(t["completion_ids"]) for t in turns)
        ids, mask = torch.zeros(len(turns), longest, dtype=torch.long), torch.zeros(len(turns), longest, dtype=torch.long)
        scored = torch.zeros(len(turns), longest - 1)
        for i, turn in enumerate(turns):
            p, whole = len(turn["prompt_ids"]), turn["prompt_ids"] + turn["completion_ids"]
            ids[i, :len(whole)], mask[i, :len(whole)], scored[i, p - 1:len(whole) - 1] = torch.tensor(whole), 1, 1
        advantage = torch.tensor([[t["advantage"]] for t in turns])
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
        logp = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
        ratio = torch.exp(logp - logp.detach())
        loss = -(torch.min(ratio * advantage, ratio.clamp(0.8, 1.28) * advantage) * scored).sum() / (len(turns) * LENGTH)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        steps.append({"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu, "grad_norm": norm.item()})
    print(json.dumps({"steps": steps, "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def pytorch(arguments, lines):
    command = [sys.executable, __file__, arguments.rl_update, str(arguments.model), "--side", "--threads",
               str(arguments.threads)] + ["--checkpointing"] * arguments.checkpointing
    out = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(out.stdout)


def rl_update(arguments, lines):
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.rl_update, "--model", str(arguments.model), "--out", folder + "/out", "--records-per-step", "1",
                   "--save-steps", "0", "--max-completion-length", str(LENGTH)]
        command += ["--gradient-checkpointing"] * arguments.checkpointing
        out = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True,
                             env=os.environ | {"OMP_NUM_THREADS": str(arguments.threads)})
    metrics = [json.loads(line) for line in out.stdout.splitlines()]
    steps = [{"wall": m["measured"]["seconds"], "cpu": m["measured"]["cpu_s"], "grad_norm": m["grad_norm"]} for m in metrics]
    return {"steps": steps, "memory_mb": metrics[-1]["measured"]["peak_memory_mb"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rl_update")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--case", action="append", choices=["equal", "mixed", "group"])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--checkpointing", action="store_true", help="on both sides")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 77
    if arguments.side:
        return pytorch_side(arguments)
    for case in arguments.case or ["equal", "mixed", "group"]:
        rng, load = random.Random(1), os.getloadavg()
        batches = [sequences(case, rng) for _ in range(arguments.steps)]
        lines = "".join(record(step, i) for i, step in enumerate(batches))
        tokens = sum(len(p) + len(c) for p, c, _ in batches[0])
        sides = {"rl_update": rl_update(arguments, lines), "pytorch": pytorch(arguments, lines)}
        norms = [sides[side]["steps"][0]["grad_norm"] for side in sides]
        assert abs(norms[0] - norms[1]) < 1e-3 * norms[1], norms  # the same work
        result = {"case": case, "checkpointing": arguments.checkpointing, "threads": arguments.threads, "tokens_per_step": tokens}
        for clock, unit in (("wall", "s"), ("cpu", "cpu_s")):
            rate = {side: tokens / min(step[clock] for step in sides[side]["steps"][1:]) for side in sides}
            result |= {f"{side}_tokens_per_{unit}": round(rate[side], 1) for side in sides}
            result["ratio" if clock == "wall" else "ratio_cpu"] = round(rate["rl_update"] / rate["pytorch"], 2)
        result |= {f"{side}_memory_mb": round(sides[side]["memory_mb"]) for side in sides}
        print(json.dumps(result | {"load_before": load, "load_after": os.getloadavg()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
