#!/usr/bin/env python3
"""The tiny policy of examples/tiny: its model from nothing, its author's kernels and lessons, and a small run of the recipe."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TINY = ROOT / "examples" / "tiny"
GOLDEN = ROOT / "tests" / "golden" / "model" / "llama"
ENV = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", OMP_WAIT_POLICY="PASSIVE")
sys.dont_write_bytecode = True
sys.path.insert(0, str(TINY))
import grammar  # noqa: E402

if not (BIN / "rl-update").exists():
    print("rl-update is not built (LEAP_TORCH=OFF)")
    sys.exit(77)


def run(*command, given=""):
    done = subprocess.run([str(part) for part in command], cwd=ROOT, env=ENV, input=given, capture_output=True, text=True,
                          timeout=600)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def jsonl(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def files(directory):
    return {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir()}


def shapes(model):
    data = (model / "model.safetensors").read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    header.pop("__metadata__", None)
    return {name: tensor["shape"] for name, tensor in header.items()}


class Tiny(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="leap-tiny-")
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = pathlib.Path(scratch.name)
        problems = jsonl(problem.record() for problem in grammar.problems())
        cls.lessons = cls.dir / "lessons.jsonl"
        cls.lessons.write_text(run(TINY / "teach", "lessons", "--count", 400,
                                   given=run(TINY / "teach", "draw", "-n", 6, given=problems)))
        run(TINY / "make-model", cls.lessons, "--out", cls.dir / "init")

    def test_model_from_nothing(self):
        sizes = ("--layers", 2, "--width", 32, "--inner", 48, "--heads", 4, "--vocabulary", 300)
        made = [self.dir / name for name in ("one", "two", "other")]
        for out, seed in zip(made, (5, 5, 6)):
            run(TINY / "make-model", self.lessons, "--out", out, "--seed", seed, *sizes)
        one, two, other = map(files, made)
        self.assertEqual(one, two)
        self.assertEqual({name for name in one if one[name] != other[name]}, {"model.safetensors"})

        golden = shapes(GOLDEN)  # as transformers wrote it, with two heads for keys and values of four
        for name in golden:
            if "k_proj" in name or "v_proj" in name:
                golden[name] = [32, 32]
        golden["model.embed_tokens.weight"] = [300, 32]
        self.assertEqual(shapes(made[0]), golden)
        theirs = json.loads((GOLDEN / "config.json").read_text())
        ours = json.loads(one["config.json"])
        for name in ("architectures", "model_type", "hidden_act", "hidden_size", "intermediate_size", "head_dim",
                     "num_hidden_layers", "num_attention_heads", "attention_bias", "mlp_bias", "tie_word_embeddings"):
            self.assertEqual(ours[name], theirs[name], name)

    def test_tokenizer(self):
        """Any text comes back; kernels are short; ids are those of the tokenizers package, where it is there."""
        texts = [lesson["solutions"][0]["completion"] for lesson in lines(self.lessons.read_text())[:50]]
        texts += ["", " ", "  a\n\n b  \n", "naïve 你好 🙂\t\r\n\x00end", "<|user|>x<|end|>"]
        shown = lines(run(BIN / "leap-sample", "--tokenize", "--model", self.dir / "init", given=jsonl({"text": t} for t in texts)))
        back = lines(run(BIN / "leap-sample", "--tokenize", "--model", self.dir / "init",
                         given=jsonl({"ids": line["ids"]} for line in shown)))
        self.assertEqual([line["text"] for line in back], texts)
        self.assertLess(max(len(line["ids"]) for line in shown[:50]), 160)
        try:
            from tokenizers import Tokenizer
        except ImportError:
            return
        theirs = Tokenizer.from_file(str(self.dir / "init" / "tokenizer.json"))
        for line in shown:
            self.assertEqual(line["ids"], theirs.encode(line["text"]).ids, line["text"])

    def test_lessons_lower_the_loss(self):
        told = lines(run(BIN / "rl-update", "--loss", "sft", "--model", self.dir / "init", "--out", self.dir / "taught", "--lr",
                         "3e-3", "--records-per-step", 8, "--max-steps", 12, self.lessons))
        losses = [line["loss"] for line in told]
        self.assertLess(abs(losses[0] - 6.6), 1.5)  # near log 768: it knows nothing
        self.assertLess(max(losses[-3:]), 0.6 * losses[0])

    def test_kernels_and_lessons(self):
        """Right kernels are ok, each mistake is not, and a lesson's prompt is the one that leap-sample makes."""
        records, wanted = [], []
        for name in ("map/reverse", "scalar/blend", "matrix/scale_rows", "rows/max"):
            problem = next(p for p in grammar.problems() if p.id == name)
            choices = [problem.right()] + [dict(problem.right(), **{slot: index}) for slot, texts in problem.slots.items()
                                           for index in range(1, len(texts))]
            record = problem.record()
            record["rollouts"] = [{"turns": [{"completion": grammar.ANSWER.format(code=problem.code(chosen)), "choices": chosen}],
                                   "state": "open"} for chosen in choices]
            records.append(record)
            wanted.append([True] + [False] * (len(choices) - 1))
        verified = run(BIN / "leap-verify", given=jsonl(records))
        self.assertEqual([[r["turns"][0]["verdict"]["status"] == "ok" for r in record["rollouts"]] for record in lines(verified)],
                         wanted)

        drawn = run(TINY / "teach", "draw", given=verified)
        second = [lesson for lesson in lines(run(TINY / "teach", "lessons", given=drawn)) if len(lesson["prompt"]) == 3]
        self.assertEqual(len(second), sum(len(outcomes) - 1 for outcomes in wanted))
        rendered = lines(run(BIN / "leap-sample", "--tokenize", "--model", self.dir / "init",
                             given=jsonl({"messages": lesson["prompt"]} for lesson in second)))

        def later_prompts(records):
            made = run(BIN / "leap-sample", "--model", self.dir / "init", "--max-tokens", 1, given=jsonl(records))
            return sorted(rollout["turns"][1]["prompt_ids"] for record in lines(made) for rollout in record["rollouts"][1:])

        self.assertEqual(later_prompts(lines(verified)), sorted(line["ids"] for line in rendered))
        # The same when the first turn has ids, as one that a model drew.
        sampled = lines(verified)
        for record in sampled:
            texts = [{"messages": record["prompt"]}] + [{"text": r["turns"][0]["completion"]} for r in record["rollouts"]]
            first, *said = [line["ids"] for line in lines(run(BIN / "leap-sample", "--tokenize", "--model", self.dir / "init",
                                                              given=jsonl(texts)))]
            for rollout, ids in zip(record["rollouts"], said):
                rollout["turns"][0] |= {"prompt_ids": first, "completion_ids": ids + [2]}
        self.assertEqual(later_prompts(sampled), sorted(line["ids"] for line in rendered))

    def test_recipe(self):
        out = self.dir / "run"
        make = ["make", "-f", "examples/tiny.mk", f"OUT={out}", "SEEDS=1 2", "PROBLEM_COUNT=2", "DRAWS=2", "LESSON_STEPS=12",
                "LESSONS=8", "STEPS=1", "BATCH=2", "ROLLOUTS=2", "TURNS=2", "CHECKS=2", "MAX_TOKENS=24"]
        told = run(*make)
        self.assertIn("rise: ", told)
        curve = lines((out / "curve.jsonl").read_text())
        self.assertEqual([(line["run"], line["step"]) for line in curve], [("seed1", 1), ("seed2", 1)])
        ElementTree.parse(out / "curve.svg")
        ids = [(out / f"seed{seed}" / "step1" / "turn1.sampled.jsonl").read_text().count('"completion_ids"') for seed in (1, 2)]
        self.assertEqual(ids, [4, 4])
        first = [lines((out / f"seed{seed}" / "step1" / "turn1.sampled.jsonl").read_text())[0]["rollouts"][0]["turns"][0]
                 for seed in (1, 2)]
        self.assertNotEqual(first[0]["completion_ids"], first[1]["completion_ids"])
        self.assertNotIn("leap-", run(*make))  # nothing is done twice

    def test_curve(self):
        """Rates, standard errors and the rise, of runs made by hand."""
        def draws(rates):
            return jsonl({"id": str(at), "rollouts": [{"turns": [{"verdict": {"status": "ok" if k < rate else "race"}}]}
                                                      for k in range(4)]} for at, rate in enumerate(rates))
        rank = {"acc": [0.5, 0.75], "recovery": 0.5, "turns": 12, "rollouts": 8, "expanded": 1.0, "flat_groups": 0, "groups": 2}
        for name, after in (("a", (3, 4)), ("b", (4, 4))):
            step = self.dir / "made" / name / "step1"
            step.mkdir(parents=True)
            (step.parent / "before.jsonl").write_text(draws((1, 2)))
            (step.parent / "after1.jsonl").write_text(draws(after))
            (step / "rank.json").write_text(json.dumps(rank))
            (step / "metrics.jsonl").write_text(json.dumps({"entropy": 0.25, "grad_norm": 2.0}) + "\n")
        told = run(TINY / "curve", "--steps", 1, "--svg", self.dir / "made.svg", "--jsonl", self.dir / "made.jsonl",
                   self.dir / "made" / "a", self.dir / "made" / "b")
        # Before: (1/4, 2/4), variances (3/16 + 4/16) / 3 / 4; after: 7/8, variance 3/16 / 3 / 4, and 1.
        self.assertIn("a: 37.5 ± 19.1 % -> 87.5 ± 12.5 %", told)
        self.assertIn("b: 37.5 ± 19.1 % -> 100.0 ± 0.0 %", told)
        self.assertIn("rise: 56.2 ± 14.9 %, over 2 runs, 3.8 standard errors", told)
        self.assertEqual(lines((self.dir / "made.jsonl").read_text())[1],
                         {"run": "b", "step": 1, "first_turn": 0.5, "solved": 0.75, "repaired": 0.5, "turns": 1.5,
                          "expanded": 1.0, "flat": 0.0, "entropy": 0.25, "grad_norm": 2.0})


if __name__ == "__main__":
    unittest.main()
