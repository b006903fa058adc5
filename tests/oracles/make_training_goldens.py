#!/usr/bin/env python3
"""Golden files of the training room: a tiny Llama, records to train on, and what PyTorch makes of them.

Writes tests/golden/training/: model/ (Hugging Face layout), in.jsonl, sft.jsonl, cases.json (options, metrics of every step)
adapter/ (a PEFT adapter with rsLoRA over model/) and after.safetensors (CASE/STEP/NAME: parameters after that step; of
cases with an adapter, the adapter's). Needs torch, transformers, peft, safetensors.
The losses are written from their definitions, one action at a time and without batching.
"""
import json, math, pathlib
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

ROOT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "training"
VOCAB = 40
STEPS = 3


def tiny_model(seed):
    torch.manual_seed(seed)
    config = LlamaConfig(vocab_size=VOCAB, hidden_size=8, intermediate_size=16, num_hidden_layers=2,
                         num_attention_heads=2, num_key_value_heads=1, head_dim=4, max_position_embeddings=128,
                         rope_theta=10000.0, rms_norm_eps=1e-5, tie_word_embeddings=True, eos_token_id=2,
                         bos_token_id=None, pad_token_id=5)
    model = LlamaForCausalLM(config).float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.4 if p.dim() > 1 else 1 + 0.1 * torch.randn_like(p))
    return model


def save_adapter(folder):
    torch.manual_seed(11)
    model = get_peft_model(tiny_model(1), LoraConfig(r=3, lora_alpha=6, use_rslora=True, bias="none", task_type="CAUSAL_LM",
                                                     target_modules=["q_proj", "v_proj", "down_proj"]))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_" in name:
                p.copy_(torch.randn_like(p) * 0.3)
    model.save_pretrained(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = None
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    (folder / "README.md").unlink(missing_ok=True)


def log_probs(model, prompt, completion, temperature):
    logits = model(input_ids=torch.tensor([prompt + completion])).logits[0].float() / temperature
    logp = torch.log_softmax(logits, -1)
    at = torch.arange(len(prompt) - 1, len(prompt) + len(completion) - 1)
    return logp[at, torch.tensor(completion)]


def records(model, reference, draw):
    """Four groups. Recorded log-probs are off by some noise, so that clipping has work to do."""
    out = []
    for group in range(4):
        rollouts = []
        for r in range(3):
            turns, prompt = [], draw(3 + group)
            for t in range(1 + (group + r) % 2):
                completion = draw(2 + (3 * r + 5 * t + group) % 7)
                temperature = 0.7 if group == 1 else 1.0
                with torch.no_grad():
                    lp = log_probs(model, prompt, completion, temperature)
                    ref = log_probs(reference, prompt, completion, temperature)
                noise = 0.4 * torch.randn(len(completion))
                turns.append({
                    "completion": "", "prompt_ids": prompt, "completion_ids": completion,
                    "logprobs": [round(float(x), 6) for x in lp + noise],
                    "ref_logprobs": [round(float(x), 6) for x in ref],
                    "finish_reason": "length" if (group + r + t) % 4 == 3 else "stop",
                    "sampling": {"temperature": temperature, "max_tokens": 16, "logprobs_mode": "scaled"},
                    "advantage": [0.8, -0.6, 0.0, -1.3, 1.1][(group * 2 + r + t) % 5]})
                prompt = prompt + completion + draw(2)
            rollouts.append({"turns": turns, "state": "open", "reward": None if (group, r) == (2, 1) else 0.5})
        out.append({"id": f"golden/{group}", "prompt": "", "rollouts": rollouts})
    out[3]["rollouts"][0]["turns"][0]["advantage"] = None
    return out


def actions_of(record, case):
    if case["loss"] == "sft":
        return [dict(turn=s, T=1.0, A=0.0) for s in record["solutions"]]
    out = []
    for rollout in record["rollouts"]:
        if rollout["reward"] is None:
            continue
        for turn in rollout["turns"]:
            if turn["advantage"] is not None and turn["completion_ids"]:
                out.append(dict(turn=turn, T=turn["sampling"]["temperature"], A=turn["advantage"]))
    return out


def step_loss(case, model, reference, actions):
    unmasked = [a for a in actions
                if not (case.get("mask_truncated") and a["turn"].get("finish_reason") == "length")]
    B, N = len(unmasked), sum(len(a["turn"]["completion_ids"]) for a in unmasked)
    low, high = 1 - case.get("epsilon", 0.2), 1 + case.get("epsilon_high", 0.28)
    beta, loss = case.get("beta", 0.0), case["loss"]
    total = torch.zeros(())
    for a in unmasked:
        turn, A = a["turn"], a["A"]
        lp = log_probs(model, turn["prompt_ids"], turn["completion_ids"], a["T"])
        n = len(lp)
        if loss == "sft":
            terms = -lp
        else:
            recorded = torch.tensor(turn["logprobs"])
            if case.get("old_logprobs") == "recompute":
                old = a.setdefault("old", lp.detach())
            else:
                old = recorded
            if loss == "gspo":
                s = torch.exp((lp - old).mean())
                terms = -torch.min(s * A, torch.clamp(s, low, high) * A).expand(n)
            elif loss == "cispo":
                terms = -torch.clamp(torch.exp(lp - old), max=high).detach() * A * lp
            else:
                rho = torch.exp(lp - old)
                free = torch.clamp(rho, max=case["delta"]) if "delta" in case else rho
                terms = -torch.min(free * A, torch.clamp(rho, low, high) * A)
            if case.get("old_logprobs") == "recompute":
                terms = terms * torch.clamp(torch.exp(a["old"] - recorded), max=case["is_cap"])
        if beta:
            if case.get("reference") == "record":
                ref = torch.tensor(turn["ref_logprobs"])
            else:
                with torch.no_grad():
                    ref = log_probs(reference, turn["prompt_ids"], turn["completion_ids"], a["T"])
            terms = terms + beta * (torch.exp(ref - lp) - (ref - lp) - 1)
        divisor = {"grpo": B * n, "gspo": B * n, "dr_grpo": B * case.get("max_completion_length", 16)}.get(loss, N)
        total = total + terms.sum() / divisor
    return total, N, B


def run(case, records_in):
    model = tiny_model(1)
    if case.get("adapter"):
        model = PeftModel.from_pretrained(model, ROOT / "adapter", is_trainable=True)
    if case.get("reference") == "model":
        reference = tiny_model(2)
    else:
        reference = tiny_model(1)
    params = {name.replace(".default.", "."): p for name, p in model.named_parameters() if p.requires_grad}
    optimiser = torch.optim.AdamW(
        [{"params": [p for p in params.values() if p.dim() >= 2], "weight_decay": 0.01},
         {"params": [p for p in params.values() if p.dim() < 2], "weight_decay": 0.0}], lr=case["lr"])
    per_step = case.get("records_per_step", 0) or len(records_in)
    iterations = case.get("num_iterations", 1)
    metrics, after = [], {}
    step = 0
    for first in range(0, len(records_in), per_step):
        actions = [a for r in records_in[first:first + per_step] for a in actions_of(r, case)]
        for _ in range(iterations):
            if step == STEPS:
                break
            step += 1
            optimiser.zero_grad()
            loss, tokens, sequences = step_loss(case, model, reference, actions)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(params.values(), case.get("max_grad_norm", 1.0) or math.inf)
            lr = case["lr"] * min(1.0, step / case["warmup_steps"]) if "warmup_steps" in case else case["lr"]
            for g in optimiser.param_groups:
                g["lr"] = lr
            optimiser.step()
            metrics.append({"step": step, "loss": loss.item(), "grad_norm": norm.item(), "lr": lr, "tokens": tokens,
                            "sequences": sequences})
            if step in (1, STEPS):
                for name, p in params.items():
                    after[f"{case['name']}/{step}/{name}"] = p.detach().clone()
    assert step == STEPS
    return metrics, after


CASES = [
    dict(name="dr_grpo", loss="dr_grpo"),
    dict(name="grpo", loss="grpo"),
    dict(name="bnpo", loss="bnpo"),
    dict(name="dapo", loss="dapo"),
    dict(name="cispo", loss="cispo"),
    dict(name="gspo", loss="gspo"),
    dict(name="sft", loss="sft"),
    dict(name="dr_grpo_ref_logprobs", loss="dr_grpo", beta=0.1, reference="record", max_completion_length=7),
    dict(name="grpo_ref_model_delta", loss="grpo", beta=0.2, reference="model", delta=1.1, max_grad_norm=0.0),
    dict(name="dapo_recompute", loss="dapo", old_logprobs="recompute", is_cap=1.2, epsilon=0.002, epsilon_high=0.003),
    dict(name="cispo_masked_kl", loss="cispo", mask_truncated=True, beta=0.05, reference="self"),
    dict(name="gspo_recompute_kl", loss="gspo", old_logprobs="recompute", is_cap=2.0, beta=0.05, reference="self",
         mask_truncated=True),
    dict(name="sft_kl", loss="sft", beta=0.1, reference="model"),
    dict(name="batches_warmup", loss="grpo", records_per_step=1, num_iterations=1, warmup_steps=2,
         max_grad_norm=0.05),
    dict(name="adapter", loss="dr_grpo", adapter=True),
    dict(name="adapter_kl", loss="dapo", adapter=True, beta=0.1, reference="base"),
]


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    model, reference = tiny_model(1), tiny_model(2)
    for m, name in ((model, "model"), (reference, "reference")):
        m.save_pretrained(ROOT / name)
    save_adapter(ROOT / "adapter")
    torch.manual_seed(7)
    draw = lambda n: torch.randint(3, VOCAB, (n,)).tolist()
    lines = records(model, reference, draw)
    sft = [{"id": f"sft/{i}", "prompt": "", "solutions": [
        {"prompt_ids": draw(4), "completion_ids": draw(3 + i + j) + [2]} for j in range(2)]} for i in range(3)]
    for name, rows in (("in.jsonl", lines), ("sft.jsonl", sft)):
        (ROOT / name).write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in rows))
    after = {}
    for case in CASES:
        case.setdefault("lr", 1e-3)
        case.setdefault("num_iterations", STEPS)
        case["metrics"], tensors = run(case, sft if case["loss"] == "sft" else lines)
        after.update(tensors)
        assert all(math.isfinite(m["loss"]) for m in case["metrics"])
    (ROOT / "cases.json").write_text(json.dumps(CASES, indent=1) + "\n")
    save_file(after, ROOT / "after.safetensors")


main()
