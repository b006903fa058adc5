#!/usr/bin/env python3
"""The scripts of examples/ with a tiny model and with a server: every stage a file, nothing done twice, killed and resumed."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
import fake_server  # noqa: E402
from fake_server import FakeServer  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TINY = ROOT / "tests" / "golden" / "model" / "llama"
ENV = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", ROLLOUTS="3", TURNS="2", MAX_TOKENS="8", RANK_FLAGS="")
LOCAL = (BIN / "rl-update").exists()


def problems(count):
    check = {"type": "call", "cases": [{"args": [1], "expect": 2, "public": True}]}
    return "".join(json.dumps({"id": f"p{i}", "prompt": f"add one {i}", "task": {
        "language": "python", "entry_point": "f", "check": check}}) + "\n" for i in range(count))


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]

DECOMPOSED = ('Split:\n```python\ndef add(a: int, b: int) -> int:\n    """The sum."""\n    ...\n\n'
              'def f(n: int) -> int:\n    """n + 1, by `add(n, 1)`."""\n    ...\n```\n')


def says(prompt, seed, max_tokens):
    """A policy that splits problems, now and then badly, and implements `add` and `f`, now and then wrongly."""
    prompt = bytes(prompt).decode() if isinstance(prompt, list) else json.dumps(prompt)
    if "Split the solution" in prompt:
        text = DECOMPOSED if seed % 4 else "I would rather not."
    elif "Write the function `add`" in prompt:
        text = "```python\ndef add(a, b):\n    return a %s b\n```" % ("+" if seed % 2 else "-")
    else:
        text = "```python\ndef f(n):\n    return add(n, %d)\n```" % (seed % 2)
    ids = list(text.encode())[: max_tokens - 1] + [0]
    return text, ids, [-0.5] * len(ids), "stop"


class Examples(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="leap-examples-")
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        (self.dir / "problems.jsonl").write_text(problems(4))

    def run_ok(self, *command, **options):
        done = subprocess.run([str(c) for c in command], cwd=ROOT, env=ENV, capture_output=True, timeout=600, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        return done.stdout.decode()

    @unittest.skipUnless(LOCAL, "built without LibTorch")
    def test_every_stage_is_a_file(self):
        out = self.dir / "out"
        make = ["make", "-f", "examples/leap.mk", f"OUT={out}", f"PROBLEMS={self.dir / 'problems.jsonl'}", f"MODEL={TINY}",
                "PRUNE_FLAGS=--hopeless-above 1.0"]
        self.run_ok(*make)
        ranked = lines(out / "ranked.jsonl")
        self.assertEqual([r["id"] for r in ranked], ["p0", "p1", "p2", "p3"])
        for record in ranked:
            self.assertEqual([len(r["turns"]) for r in record["rollouts"]], [2, 2, 2])
            for turn in (t for r in record["rollouts"] for t in r["turns"]):
                self.assertLessEqual({"completion_ids", "logprobs", "verdict", "advantage"}, set(turn))
        self.assertEqual(lines(out / "metrics.jsonl")[0]["step"], 1)
        self.assertEqual(json.loads((out / "model" / "leap_state.json").read_text())["step"], 1)
        self.assertIn("p3", self.run_ok("python3", "examples/show-step", out))

        self.assertNotIn("leap-", self.run_ok(*make))  # nothing is done twice
        before = (out / "turn2.verified.jsonl").stat().st_mtime_ns
        (out / "ranked.jsonl").unlink()
        self.run_ok(*make, "RANK_FLAGS=--reward binary", out / "ranked.jsonl")
        self.assertEqual((out / "turn2.verified.jsonl").stat().st_mtime_ns, before)
        self.assertEqual({r["reward"] for x in lines(out / "ranked.jsonl") for r in x["rollouts"]}, {0.0})

    @unittest.skipUnless(LOCAL, "built without LibTorch")
    def test_training_loop_survives_kills(self):
        loop = ["examples/train-loop", str(TINY), str(self.dir / "loop"), "3", str(self.dir / "problems.jsonl"), "2"]
        for pause in (0.7, 2.0, 3.5):
            child = subprocess.Popen(loop, cwd=ROOT, env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     start_new_session=True)
            time.sleep(pause)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        self.assertEqual([x.split(":")[0] for x in self.run_ok(*loop).splitlines()], ["step 1", "step 2", "step 3"])
        ids = [[r["id"] for r in lines(self.dir / "loop" / f"step{s}" / "problems.jsonl")] for s in (1, 2, 3)]
        self.assertEqual(ids, [["p0", "p1"], ["p2", "p3"], ["p0", "p1"]])
        third = lines(self.dir / "loop" / "step3" / "turn1.sampled.jsonl")
        sampling = third[0]["rollouts"][0]["turns"][0]["sampling"]
        self.assertEqual((sampling["weight_version"], sampling["seed"]), (2, 3))  # the policy of the step before, a new seed
        first = lines(self.dir / "loop" / "step1" / "turn1.sampled.jsonl")
        self.assertNotEqual(first[0]["rollouts"][0]["turns"][0]["completion_ids"],
                            third[0]["rollouts"][0]["turns"][0]["completion_ids"])
        self.assertEqual(sorted(p.parent.name for p in (self.dir / "loop").glob("step*/model")), ["step2", "step3"])

    def test_decomposed_step_through_a_server(self):
        env = {**ENV, "DECOMPOSITIONS": "6", "IMPLEMENTATIONS": "4", "BETA": "0.1"}
        with unittest.mock.patch.object(fake_server, "completion_of", says), FakeServer() as server:
            done = subprocess.run(["examples/decomp-step", "--url", server.url, "--model", "m"], cwd=ROOT, env=env, timeout=300,
                                  input=problems(3).encode(), capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        records = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["id"] for r in records], ["p0", "p1", "p2"])
        errors = solved = 0
        for record in records:
            self.assertEqual(len(record["decompositions"]), 6)
            for one in record["decompositions"]:
                self.assertLessEqual({"completion_ids", "logprobs", "sampling", "advantage"}, set(one))
                if one["error"]:
                    errors += 1
                    continue
                self.assertEqual([f["name"] for f in one["functions"]], ["add", "f"])
                self.assertEqual(one["recombination"]["programs"], 16)
                solved += one["recombination"]["solved"]
                for action in (i for f in one["functions"] for i in f["implementations"]):
                    self.assertLessEqual({"code", "completion_ids", "logprobs", "advantage"}, set(action))
        self.assertTrue(0 < errors < 18 and solved > 0)

    @unittest.skipUnless(LOCAL, "built without LibTorch")
    def test_recombined_lines_are_trained_on(self):
        ids = {"prompt_ids": [1, 2, 3], "completion_ids": [4, 5, 6], "logprobs": [-4.0, -4.0, -4.0]}
        functions = [{"name": name, "implementations": [dict(ids, code=f"def {name}({args}):\n    return {value}") for value in values]}
                     for name, args, values in (("add", "a, b", ["a + b", "a - b", "0"]), ("f", "n", ["add(n, 1)", "n"]))]
        record = json.loads(problems(1))
        record["decompositions"] = [dict(ids, functions=functions), dict(ids, functions=[], error="line 1: no"),
                                    dict(ids, functions=functions[1:])]
        made = self.run_ok(BIN / "decomp-recombine", input=json.dumps(record).encode())
        for train, sequences in (("decomposition", 3), ("implementation", 7)):
            out = self.dir / train
            told = self.run_ok(BIN / "rl-update", "--train", train, "--model", TINY, "--out", out, "--lr", "1e-3",
                               "--old-logprobs", "recompute", input=made.encode())
            metrics = json.loads(told)
            self.assertEqual((metrics["sequences"], metrics["tokens"]), (sequences, 3 * sequences))
            self.assertGreater(metrics["grad_norm"], 0)
        emitted = self.run_ok(BIN / "decomp-recombine", "--emit-rollouts", "--budget-s", "60", input=json.dumps(record).encode())
        told = self.run_ok(BIN / "rl-update", "--loss", "sft", "--model", TINY, "--out", self.dir / "sft", input=emitted.encode())
        self.assertEqual(json.loads(told)["sequences"], 1)
        spent = self.run_ok(BIN / "decomp-recombine", "--budget-s", "1e-9", input=json.dumps(record).encode())
        told = self.run_ok(BIN / "rl-update", "--train", "decomposition", "--model", TINY, "--out", self.dir / "spent",
                           input=spent.encode())
        self.assertTrue(json.loads(told)["skipped"])

    @unittest.skipUnless(LOCAL, "built without LibTorch")
    def test_decomposed_steps_by_turns(self):
        env = {**ENV, "DECOMPOSITIONS": "3", "IMPLEMENTATIONS": "2"}
        loop = ["examples/decomp-loop", str(TINY), str(self.dir / "loop"), "2", str(self.dir / "problems.jsonl"), "2"]
        for attempt in range(2):
            done = subprocess.run(loop, cwd=ROOT, env=env, capture_output=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
            told = done.stdout.decode().splitlines()
            self.assertRegex(told[0], r"^step 1: decomposition: \{'mean_functions'")
            self.assertRegex(told[1], r"^step 2: implementation: ")
            if attempt:
                self.assertEqual(done.stderr, b"")  # nothing is done twice
        second = lines(self.dir / "loop" / "step2" / "recombined.jsonl")
        self.assertEqual([r["id"] for r in second], ["p2", "p3"])
        self.assertEqual(second[0]["decompositions"][0]["sampling"]["weight_version"], 1)
        self.assertEqual(len(second[0]["decompositions"]), 3)

    def test_weights_of_a_server(self):
        """Every command asks what its server understands, in order; what the server says is not lost."""
        model = self.dir / "model"
        model.mkdir()
        (model / "leap_state.json").write_text('{"step": 7}')
        script = "examples/server-weights"
        with FakeServer() as server:
            url = server.url + "/v1"
            self.assertEqual(self.run_ok(script, "load", "vllm-adapter", url, model, "policy@7"), "7\n")
            self.assertEqual(self.run_ok(script, "load", "vllm", url), "")
            self.assertEqual(self.run_ok(script, "load", "sglang", server.url, model), "7\n")
            for words in (("sleep", "vllm"), ("wake", "vllm"), ("sleep", "sglang"), ("wake", "sglang")):
                self.run_ok(script, *words, url)
        self.assertEqual(server.commands, [
            ("/v1/load_lora_adapter", {"lora_name": "policy@7", "lora_path": str(model)}),
            ("/sleep?level=2", {}), ("/wake_up?tags=weights", {}), ("/collective_rpc", {"method": "reload_weights"}),
            ("/wake_up?tags=kv_cache", {}),
            ("/update_weights_from_disk", {"model_path": str(model), "flush_cache": True}),
            ("/sleep?level=2", {}), ("/wake_up", {}), ("/release_memory_occupation", {}), ("/resume_memory_occupation", {})])
        with FakeServer(fault=lambda *_: None) as broken:
            for words, status, said in ((("load", "sglang", broken.url, model), 1, "out of order"), (("load",), 2, "usage"),
                                        (("sleep", "vllm", "http://127.0.0.1:1"), 1, "refused")):
                done = subprocess.run([script, *map(str, words)], cwd=ROOT, env=ENV, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, status, words)
                self.assertIn(said, done.stderr.decode())

    def test_one_step_through_a_server(self):
        with FakeServer() as server:
            out = self.run_ok("examples/leap-step", "--url", server.url, "--model", "m",
                              input=problems(3).encode())
        self.assertEqual(out, "")  # all failed: every group is flat, and dropped


if __name__ == "__main__":
    unittest.main()
