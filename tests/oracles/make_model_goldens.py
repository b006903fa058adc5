#!/usr/bin/env python3
"""Makes tests/golden/model/: tiny random checkpoints and what transformers computes with them.

Usage: make_model_goldens.py [OUT]; needs torch and transformers. The weights are drawn by seed, so a second run changes
nothing that matters. With --smollm2 DIR only smollm2.json is made, from the checkpoint in DIR.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config
from transformers.utils import logging

logging.disable_progress_bar()
COMMON = dict(vocab_size=97, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
              max_position_embeddings=512, bos_token_id=None, eos_token_id=[1, 2], pad_token_id=None)
ROPE3 = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
         "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
MODELS = {  # name: config, dtype it is stored in, most bytes a shard
    "llama": (LlamaConfig(num_key_value_heads=2, tie_word_embeddings=True, **COMMON), torch.bfloat16, None),
    "llama3": (LlamaConfig(num_key_value_heads=1, tie_word_embeddings=False, head_dim=16, rope_parameters=ROPE3,
                           attention_bias=True, mlp_bias=True, **COMMON), torch.float32, "60KB"),
    "qwen2": (Qwen2Config(num_key_value_heads=2, tie_word_embeddings=False, **COMMON), torch.float16, None),
    "qwen3": (Qwen3Config(num_key_value_heads=2, tie_word_embeddings=True, head_dim=8, **COMMON), torch.bfloat16, None),
}


def tokenizer_json():
    """A byte-level BPE of 90 tokens for models of 97: the last ids stand for no text."""
    characters = [chr(c) for c in range(33, 127) if chr(c) not in "<>|~^`{}\\$&"] + ["\u0120", "\u010a"]
    merges = [("\u0120", "a"), ("e", "r")]
    tokens = ["<pad>", "<|end|>", "<|stop|>"] + characters + ["".join(pair) for pair in merges]
    assert len(tokens) == 90
    special = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True} for i, t in enumerate(tokens[:3])]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
             "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [list(pair) for pair in merges]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": level, "model": model}


def logprobs(model, prompt, completion, temperature=1.0):
    with torch.no_grad():
        logits = model(torch.tensor([prompt + completion])).logits[0].float() / temperature
    scores = torch.log_softmax(logits.double(), -1)
    return [round(scores[len(prompt) + i - 1, t].item(), 7) for i, t in enumerate(completion)]


def greedy(model, prompt, count):
    """Plain argmax, lowest id first; no end ids."""
    out, step, cache = [], torch.tensor([prompt]), None
    with torch.no_grad():
        for _ in range(count):
            result = model(step, past_key_values=cache, use_cache=True)
            cache, logits = result.past_key_values, result.logits[0, -1].float()
            out.append(int((logits == logits.max()).nonzero()[0, 0]))
            step = torch.tensor([out[-1:]])
    return out


def cases(model, prompts, count):
    out = []
    for prompt in prompts:
        completion = greedy(model, prompt, count)
        out.append({"prompt": prompt, "completion": completion, "scores": logprobs(model, prompt, completion),
                    "scores_at_0.5": logprobs(model, prompt, completion, 0.5)})
    return out


def tiny(out):
    torch.manual_seed(7)
    for name, (config, dtype, shard) in MODELS.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        with torch.no_grad():
            for parameter in model.parameters():  # large enough that no two logits are nearly equal
                parameter.copy_(torch.randn_like(parameter) * 0.3 + (parameter.dim() == 1))
        model.to(dtype).save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        prompts = [[torch.randint(3, 97, (1,)).item() for _ in range(n)] for n in (1, 5, 40, 70)]
        with torch.no_grad():
            logits = model(torch.tensor([prompts[1]])).logits[0]
        golden = {"logits": [[round(x, 6) for x in row] for row in logits.tolist()], "cases": cases(model, prompts, 24)}
        (folder / "golden.json").write_text(json.dumps(golden) + "\n")
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()) + "\n")


def smollm2(source, out):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()
    texts = ["def fibonacci(n):", "The capital of France is", "1, 2, 4, 8, 16,",
             "<|im_start|>user\nWrite a Python function that adds two numbers.<|im_end|>\n<|im_start|>assistant\n",
             "import numpy as np\n\n# Sort the array in descending order\n"]
    prompts = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    (out / "smollm2.json").write_text(json.dumps({"cases": cases(model, prompts, 40)}) + "\n")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    source = None
    if arguments[:1] == ["--smollm2"]:
        source, arguments = pathlib.Path(arguments[1]), arguments[2:]
    target = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent / "golden" / "model")
    target.mkdir(parents=True, exist_ok=True)
    smollm2(source, target) if source else tiny(target)
