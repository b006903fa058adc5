#!/usr/bin/env python3
"""leap-sample and rl-update from outside, against a Llama in numpy and the tokenizers package.

Every check follows from the record and the options alone: which ids a prompt has, what a greedy or a drawn
completion and its log-probs are, where it ends, what the next turn's prompt is, and what a loss comes to.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
except ImportError:
    print("numpy and tokenizers are not there")
    sys.exit(77)

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
if not (BIN / "rl-update").exists():
    print("the local model is not built (LEAP_TORCH=OFF)")
    sys.exit(77)

SPECIAL = ["<|bos|>", "<|im_start|>", "<|im_end|>"]
CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
HEADS, KV_HEADS, HEAD_DIM, HIDDEN, INNER, LAYERS = 4, 2, 6, 16, 24, 2
PADDED = 3  # ids that the model has and the tokenizer has not
LINEAR = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
          "mlp.down_proj"]


def make_tokenizer(bos):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    corpus = ["def f(x):\n    return x + 1\n", "for i in range(10):\n    print(i)\n", "naïve 你好 🙂 the end\n"] * 5
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|bos|> $A", special_tokens=[("<|bos|>", tokenizer.token_to_id("<|bos|>"))])
    return tokenizer


class Model:
    """A random Llama checkpoint, and what it computes, in doubles."""

    def __init__(self, directory, seed, bos, tied, scaling, scale=0.3):
        self.dir, self.tokenizer = directory, make_tokenizer(bos)
        self.end = [self.tokenizer.token_to_id(text) for text in ("<|im_end|>", "<|bos|>")]
        self.vocab = self.tokenizer.get_vocab_size() + PADDED
        self.scaling, rng = scaling, np.random.default_rng(seed)

        def draw(*shape):
            return (rng.standard_normal(shape) * scale).astype(np.float32)

        width = {"q_proj": (HEADS * HEAD_DIM, HIDDEN), "k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
                 "v_proj": (KV_HEADS * HEAD_DIM, HIDDEN), "o_proj": (HIDDEN, HEADS * HEAD_DIM),
                 "gate_proj": (INNER, HIDDEN), "up_proj": (INNER, HIDDEN), "down_proj": (HIDDEN, INNER)}
        self.w = {"model.embed_tokens.weight": draw(self.vocab, HIDDEN), "model.norm.weight": 1 + draw(HIDDEN)}
        for layer in range(LAYERS):
            for name in LINEAR:
                self.w[f"model.layers.{layer}.{name}.weight"] = draw(*width[name.split(".")[1]])
            for name in ("input_layernorm", "post_attention_layernorm"):
                self.w[f"model.layers.{layer}.{name}.weight"] = 1 + draw(HIDDEN)
        if not tied:
            self.w["lm_head.weight"] = draw(self.vocab, HIDDEN)
        self.save(tied)

    def save(self, tied):
        self.dir.mkdir()
        header, data = {}, b""
        for name, value in self.w.items():
            header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
            data += value.tobytes()
        text = json.dumps(header).encode()
        (self.dir / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": HIDDEN,
                  "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                  "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "vocab_size": self.vocab, "rms_norm_eps": 1e-5,
                  "max_position_embeddings": 256, "rope_theta": 10000.0, "rope_scaling": self.scaling,
                  "tie_word_embeddings": tied, "torch_dtype": "float32", "eos_token_id": self.end[0]}
        (self.dir / "config.json").write_text(json.dumps(config))
        (self.dir / "generation_config.json").write_text(json.dumps({"eos_token_id": self.end}))
        (self.dir / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML, "eos_token": "<|im_end|>"}))
        self.tokenizer.save(str(self.dir / "tokenizer.json"))

    def logits(self, ids):
        w = {name: value.astype(np.float64) for name, value in self.w.items()}
        x = w["model.embed_tokens.weight"][ids]
        frequency = 10000.0 ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        if self.scaling:
            period, size = 2 * math.pi / frequency, self.scaling["original_max_position_embeddings"]
            low, high = self.scaling["low_freq_factor"], self.scaling["high_freq_factor"]
            smooth = np.clip((size / period - low) / (high - low), 0, 1)
            frequency = (1 - smooth) * frequency / self.scaling["factor"] + smooth * frequency
        angle = np.outer(np.arange(len(ids)), np.concatenate([frequency, frequency]))[:, None, :]

        def norm(x, name):
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name]

        def heads(x, count):
            return x.reshape(len(ids), count, HEAD_DIM)

        def rotated(x):
            half = np.concatenate([-x[..., HEAD_DIM // 2:], x[..., :HEAD_DIM // 2]], -1)
            return x * np.cos(angle) + half * np.sin(angle)

        for layer in range(LAYERS):
            at = f"model.layers.{layer}."
            h = norm(x, at + "input_layernorm.weight")
            q, k, v = (h @ w[f"{at}self_attn.{p}_proj.weight"].T for p in "qkv")
            q, k, v = rotated(heads(q, HEADS)), rotated(heads(k, KV_HEADS)), heads(v, KV_HEADS)
            k, v = (np.repeat(part, HEADS // KV_HEADS, axis=1) for part in (k, v))
            score = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(HEAD_DIM)
            score = np.where(np.tri(len(ids), dtype=bool), score, -np.inf)
            weight = np.exp(score - score.max(-1, keepdims=True))
            weight /= weight.sum(-1, keepdims=True)
            x = x + np.einsum("hij,jhd->ihd", weight, v).reshape(len(ids), -1) @ w[at + "self_attn.o_proj.weight"].T
            h = norm(x, at + "post_attention_layernorm.weight")
            gate, up = h @ w[at + "mlp.gate_proj.weight"].T, h @ w[at + "mlp.up_proj.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * up) @ w[at + "mlp.down_proj.weight"].T
        return norm(x, "model.norm.weight") @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T

    def log_softmax(self, ids, temperature=1.0):
        logits = self.logits(ids) / temperature
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def logprobs(self, prompt, completion, temperature=1.0):
        rows = self.log_softmax(prompt + completion, temperature)[len(prompt) - 1:-1]
        return rows[np.arange(len(completion)), completion]

    def greedy(self, prompt, most):
        ids = []
        while len(ids) < most and not (ids and ids[-1] in self.end):
            ids.append(int(self.logits(prompt + ids)[-1].argmax()))
        return ids

    def text(self, ids):
        return self.tokenizer.decode([i for i in ids if i < self.vocab - PADDED], skip_special_tokens=False)

    def plain(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids


def run(tool, *flags, stdin, status=0):
    data = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in stdin).encode()
    done = subprocess.run([BIN / tool, *map(str, flags)], input=data, capture_output=True, timeout=300)
    assert done.returncode == status, (flags, done.returncode, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def turns(records):
    return [turn for record in records for rollout in record["rollouts"] for turn in rollout["turns"]]


def ids_by_turn(records):
    return {(record["id"], r, t): turn["completion_ids"] for record in records
            for r, rollout in enumerate(record["rollouts"]) for t, turn in enumerate(rollout["turns"])}


PROBLEMS = [{"id": "text", "prompt": "def f(x):\n    return<|im_end|> ï"}, {"id": "ids", "prompt_ids": [7, 3, 3, 90]},
            {"id": "chat", "prompt": [{"role": "user", "content": "print 你 please"}]},
            {"id": "long", "prompt": "for i in range(10):\n    print(i)\n" * 5}]


class Policy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="leap-policy-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 32}
        cls.models = [Model(cls.scratch / "tied", 1, bos=False, tied=True, scaling=None),
                      Model(cls.scratch / "untied", 2, bos=True, tied=False, scaling=llama3)]
        cls.flat = Model(cls.scratch / "flat", 3, bos=False, tied=True, scaling=None, scale=0.1)

    def sample(self, model, *flags, stdin=PROBLEMS):
        return run("leap-sample", "--model", model.dir, *flags, stdin=stdin)

    def close(self, got, want, tolerance=1e-4):
        self.assertEqual(len(got), len(want))
        if len(want):
            self.assertLess(np.abs(np.asarray(got) - np.asarray(want)).max(), tolerance)

    def test_greedy(self):
        for model in self.models:
            for problem, record in zip(PROBLEMS, self.sample(model, "--temperature", 0, "--max-tokens", 12, "-n", 2)):
                one, two = turns([record])
                self.assertEqual(one, two)
                prompt = problem.get("prompt")
                if isinstance(prompt, str):
                    want = model.tokenizer.encode(prompt).ids
                else:
                    want = problem.get("prompt_ids") or model.plain("<|im_start|>user\nprint 你 please<|im_end|>\n"
                                                                   "<|im_start|>assistant\n")
                self.assertEqual(one["prompt_ids"], want)
                self.assertEqual(one["completion_ids"], model.greedy(want, 12))
                self.close(one["logprobs"], model.logprobs(want, one["completion_ids"]))
                ended = one["completion_ids"][-1] in model.end
                self.assertEqual(one["finish_reason"], "stop" if ended else "length")
                self.assertEqual(one["completion"], model.text(one["completion_ids"][:-1] if ended else one["completion_ids"]))
                self.assertEqual([r["state"] for r in record["rollouts"]], ["open", "open"])
                self.assertEqual({k: v for k, v in record.items() if k != "rollouts"}, problem)

    def test_log_probs_are_of_the_whole_vocabulary_at_the_temperature(self):
        for flags in ([], ["--top-k", 3], ["--top-p", 0.4]):
            for turn in turns(self.sample(self.models[1], "--temperature", 0.7, "--max-tokens", 8, "-n", 3, *flags)):
                self.close(turn["logprobs"], self.models[1].logprobs(turn["prompt_ids"], turn["completion_ids"], 0.7))
                rows = self.models[1].log_softmax(turn["prompt_ids"] + turn["completion_ids"], 0.7)
                for row, drawn in zip(rows[len(turn["prompt_ids"]) - 1:], turn["completion_ids"]):
                    better = row[row > row[drawn]]
                    self.assertLess(len(better), 3 if flags[:1] == ["--top-k"] else len(row))
                    self.assertLess(np.exp(better).sum(), 0.4 + 1e-6 if flags[:1] == ["--top-p"] else 1)

    def test_draws_depend_on_seed_id_rollout_and_turn_alone(self):
        model, flags = self.flat, ["--max-tokens", 10, "-n", 3]
        whole = self.sample(model, *flags)
        want = ids_by_turn(whole)
        self.assertEqual(len({tuple(ids) for ids in want.values()}), len(want))
        for extra in (["--batch-size", 1], ["--batch-size", 5], ["-j", 1], ["--unordered"], ["--deterministic"]):
            self.assertEqual(ids_by_turn(self.sample(model, *flags, *extra)), want)
        self.assertEqual(ids_by_turn(self.sample(model, *flags, stdin=PROBLEMS[::-1])), want)
        self.assertNotEqual(ids_by_turn(self.sample(model, *flags, "--seed", 1)), want)
        out = self.scratch / "resumed.jsonl"
        text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in whole)
        out.write_text(text[:len(text) // 2])
        self.assertEqual(self.sample(model, *flags, "--resume", out), [])
        self.assertEqual(ids_by_turn(map(json.loads, out.read_text().splitlines())), want)

    def test_draws_follow_the_distribution(self):
        for temperature in (1.0, 0.5):
            for problems, n in (([{"id": "x", "prompt": "def"}], 3000),
                                ([{"id": f"x{i}", "prompt": "def"} for i in range(1000)], 1)):
                drawn = turns(self.sample(self.flat, "--max-tokens", 1, "-n", n, "--temperature", temperature, stdin=problems))
                p = np.exp(self.flat.log_softmax(drawn[0]["prompt_ids"], temperature)[-1])
                count = np.bincount([turn["completion_ids"][0] for turn in drawn], minlength=len(p))
                often = p * len(drawn) >= 5
                expected = np.append(p[often], p[~often].sum()) * len(drawn)
                observed = np.append(count[often], count[~often].sum())
                chi = ((observed - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
                self.assertLess(abs(chi - often.sum()) / math.sqrt(2 * often.sum()), 4.5)

    def test_ends(self):
        model, flags = self.flat, ["--max-tokens", 60, "-n", 150]
        problem = [{"id": "x", "prompt": "def"}]
        plain = turns(self.sample(model, *flags, stdin=problem))
        self.assertEqual({t["completion_ids"][-1] for t in plain if t["finish_reason"] == "stop"}, set(model.end))
        self.assertTrue(any(i >= model.vocab - PADDED for t in plain for i in t["completion_ids"]))
        for turn in plain:
            self.assertEqual(len(turn["logprobs"]), len(turn["completion_ids"]))
            body = turn["completion_ids"][:-1] if turn["finish_reason"] == "stop" else turn["completion_ids"]
            self.assertEqual(len(turn["completion_ids"]), 60 if turn["finish_reason"] == "length" else len(body) + 1)
            self.assertFalse(set(body) & set(model.end))
            self.assertEqual(turn["completion"], model.text(body))
        pair = next(a + b for t in plain for a, b in zip(t["completion"], t["completion"][1:]) if a.isalnum() and b.isalnum())
        for stops in ([pair], ["e", pair], ["你"], ["never in it"]):
            found = 0
            again = turns(self.sample(model, *flags, *(f for s in stops for f in ("--stop", s)), stdin=problem))
            for turn, old in zip(again, plain):
                want = (old["completion_ids"], old["completion"], old["finish_reason"])
                for n in range(1, len(old["completion_ids"]) + (old["finish_reason"] != "stop")):
                    text = model.text(old["completion_ids"][:n])
                    places = [text.find(s) for s in stops if s in text]
                    if places:
                        want, found = (old["completion_ids"][:n], text[:min(places)], "stop"), found + 1
                        break
                self.assertEqual((turn["completion_ids"], turn["completion"], turn["finish_reason"]), want)
                self.close(turn["logprobs"], old["logprobs"][:len(turn["logprobs"])])
            self.assertEqual(found > 0, stops != ["never in it"])

    def verified(self, records):
        for turn in turns(records):
            turn.setdefault("verdict", {"status": "wrong_answer", "feedback": "got <|im_end|>", "passed": 0, "total": 1})
        return records

    def test_later_turns(self):
        for model in self.models:
            first = self.verified(self.sample(model, "--max-tokens", 6, "-n", 2))
            first[0]["rollouts"][0]["state"] = "solved"
            second = self.sample(model, "--max-tokens", 6, "--temperature", 0.7, stdin=first)
            self.assertEqual(second[0]["rollouts"][0], first[0]["rollouts"][0])
            for record in second:
                for rollout in record["rollouts"]:
                    if rollout["state"] == "solved":
                        continue
                    one, two = rollout["turns"]
                    history = one["prompt_ids"] + one["completion_ids"]
                    self.assertEqual(two["prompt_ids"][:len(history)], history)
                    between = two["prompt_ids"][len(history):]
                    self.assertIn("got <|im_end|>", model.text(between))
                    self.assertNotIn(model.end[1], between)  # no second beginning of text
                    chat = record["id"] == "chat"
                    ended = one["completion_ids"][-1] == model.end[0]
                    self.assertEqual(between.count(model.end[0]), 2 - ended if chat else 0)
                    self.close(two["logprobs"], model.logprobs(two["prompt_ids"], two["completion_ids"], 0.7))
            last = self.sample(model, "--max-tokens", 2, "--history", "last", stdin=first)
            for record in last:
                one, two = record["rollouts"][1]["turns"]
                self.assertEqual(two["prompt_ids"][:len(one["prompt_ids"])], one["prompt_ids"])

    def test_score(self):
        model = self.models[1]
        record = self.sample(model, "--max-tokens", 5, "-n", 2, "--temperature", 1.5, stdin=PROBLEMS[:1])[0]
        record["solutions"] = [{"completion": "no ids"}, {"prompt_ids": [4], "completion_ids": [5, model.end[0], 6]}]
        record["decompositions"] = [{"prompt_ids": [1, 2], "completion_ids": [3], "sampling": {"temperature": 0}, "functions": [
            {"implementations": [{"prompt_ids": [9], "completion_ids": [8, 8], "sampling": {"temperature": 0.5}}, {"code": "x"}]}]}]
        for temperature, own in ((0.7, False), (0, False), (0.8, True)):
            flags = ["--score", "--temperature", temperature, *(["--score-into", "ref_logprobs"] if own else [])]
            scored = self.sample(model, *flags, stdin=[record])[0]
            name, common = "ref_logprobs" if own else "logprobs", temperature or 1
            one = scored["decompositions"][0]
            actions = [(turn, 1.5) for turn in turns([scored])] + [(scored["solutions"][1], common), (one, 1.0),
                                                                  (one["functions"][0]["implementations"][0], 0.5)]
            for action, temperature_of in actions:
                want = model.logprobs(action["prompt_ids"], action["completion_ids"], temperature_of if own else common)
                self.close(action.pop(name), want)
            rest = json.loads(json.dumps(record))
            for turn in turns([rest]) if not own else []:
                del turn["logprobs"]
            self.assertEqual(scored, rest)

    def test_tokenize(self):
        texts = ["", " a<|im_end|>b  \n\t", "naïve 你好 🙂", "<|bos|><|im_start|>", "\u0000\ud7ff x"]
        for model in self.models:
            for text in texts:
                for add in (False, True):
                    for parse in (False, True):
                        model.tokenizer.encode_special_tokens = not parse
                        want = model.tokenizer.encode(text, add_special_tokens=add).ids
                        model.tokenizer.encode_special_tokens = False
                        got = self.sample(model, "--tokenize", stdin=[{"text": text, "add_special": add, "parse_special": parse}])
                        self.assertEqual(got[0]["ids"], want)
            ids = [[], [200, 201, 130], [model.end[0], 40, 10 ** 6, model.vocab - 1], list(range(128, 256))]
            got = self.sample(model, "--tokenize", stdin=[{"ids": i} for i in ids])
            self.assertEqual([g["text"] for g in got], [model.tokenizer.decode(i, skip_special_tokens=False) for i in ids])
            chat = self.sample(model, "--tokenize", stdin=[{"messages": [{"role": "user", "content": "a<|im_end|>"}]}])[0]
            self.assertEqual(chat["prompt"], "<|im_start|>user\na<|im_end|><|im_end|>\n<|im_start|>assistant\n")
            self.assertEqual(chat["ids"].count(model.end[0]), 1)  # the typed one is text
            # A beginning of text is there as often as the template writes it, whatever the encoder would add.
            config, template = model.dir / "tokenizer_config.json", "{{ bos_token }}{{ messages[0]['content'] }}"
            before = config.read_text()
            for text, count in ((template, 1), (template.replace("{{ bos_token }}", ""), 0)):
                config.write_text(json.dumps({"chat_template": text, "bos_token": "<|bos|>"}))
                chat = self.sample(model, "--tokenize", stdin=[{"messages": [{"role": "user", "content": "a"}]}])[0]
                self.assertEqual((chat["ids"].count(model.end[1]), model.text(chat["ids"])), (count, "<|bos|>" * count + "a"))
            config.write_text(before)

    def test_losses(self):
        model, rng = self.models[0], np.random.default_rng(5)
        records = self.verified(self.sample(model, "--max-tokens", 7, "-n", 3, "--temperature", 0.7))
        records = self.sample(model, "--max-tokens", 5, "--temperature", 1.3, stdin=records)
        for i, turn in enumerate(turns(records)):
            turn["advantage"] = [0.8, -0.6, 0, 1.1][i % 4]
        on_policy = run("rl-update", "--model", model.dir, "--out", self.scratch / "on-policy", stdin=records)[0]
        for name in ("ratio_min", "ratio_max"):
            self.assertLess(abs(on_policy[name] - 1), 1e-4)
        self.assertEqual((on_policy["sequences"], on_policy["recomputed"]), (24, 0))
        for turn in turns(records):
            turn["logprobs"] = [round(x + 0.4 * rng.standard_normal(), 6) for x in turn["logprobs"]]
        records[0]["rollouts"][0]["reward"] = None
        records[1]["rollouts"][1]["turns"][0]["advantage"] = None
        actions = [t for t in turns(records)[2:] if t["advantage"] is not None]
        for loss in ("dr_grpo", "grpo", "bnpo", "dapo", "cispo", "gspo"):
            for mask in (False, True):
                used = [t for t in actions if not (mask and t["finish_reason"] == "length")]
                tokens, total = sum(len(t["completion_ids"]) for t in used), 0.0
                for turn in used:
                    A, n = turn["advantage"], len(turn["completion_ids"])
                    lp = model.logprobs(turn["prompt_ids"], turn["completion_ids"], turn["sampling"]["temperature"])
                    rho = np.exp(lp - turn["logprobs"])
                    if loss == "gspo":
                        rho = np.full(n, np.exp(np.log(rho).mean()))
                    terms = -np.minimum(np.minimum(rho, 1.5) * A if loss != "gspo" else rho * A, np.clip(rho, 0.8, 1.28) * A)
                    if loss == "cispo":
                        terms = -np.minimum(rho, 1.28) * A * lp
                    each = {"dr_grpo": len(used) * 9, "grpo": len(used) * n, "gspo": len(used) * n}.get(loss, tokens)
                    total += terms.sum() / max(each, 1)
                flags = ["--loss", loss, "--max-completion-length", 9, *(["--delta", 1.5] if loss not in ("gspo", "cispo") else []),
                         *(["--mask-truncated"] if mask else [])]
                step = run("rl-update", "--model", model.dir, "--out", self.scratch / f"{loss}{mask}", *flags, stdin=records)[0]
                self.assertEqual((step["sequences"], step["tokens"]), (len(used), tokens))
                self.assertEqual(step.get("skipped", False), not used)
                self.assertLess(abs(step["loss"] - total), 1e-4 * max(abs(total), 1e-2), (loss, mask))


if __name__ == "__main__":
    unittest.main()
