#!/usr/bin/env python3
"""The CUDA problems of examples/problems: solutions are `ok`, faulty candidates get what they deserve, none is gameable.

Run: tests/kernel_material_test.py BIN [--all]     (without --all, leap-verify runs a fixed part of the problems)
"""

import json
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import kernel_kit  # noqa: E402

ALL = "--all" in sys.argv
BIN = next((Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")), ROOT / "build" / "bin")
PROBLEMS = kernel_kit.problems(ROOT / "examples" / "problems" / "kernels")
LINT_STEP, FAULTY_STEP = (1, 1) if ALL else (9, 9)
EXACT = {"int32", "int64", "uint8", "bool"}


def verify(records, *options):
    """The records that leap-verify writes for `records`."""
    given = "".join(json.dumps(record) + "\n" for record in records)
    done = subprocess.run([BIN / "leap-verify", *options], input=given, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"leap-verify: exit status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def with_codes(problem, codes):
    record = problem.record()
    record["rollouts"] = [{"turns": [{"code": code}], "state": "open"} for code in codes]
    return record


def verdicts(record):
    return [rollout["turns"][0]["verdict"] for rollout in record["rollouts"]]


class Declarations(unittest.TestCase):
    def test_there_are_enough_of_each_level(self):
        levels = Counter(problem.id.split("/")[0] for problem in PROBLEMS)
        self.assertEqual(set(levels), {"level1", "level2", "level3"})
        self.assertGreaterEqual(min(levels.values()), 20)

    def test_names_are_unique(self):
        names = Counter(problem.id.split("/")[1] for problem in PROBLEMS)
        self.assertEqual([name for name, times in names.items() if times > 1], [])

    def test_sizes_are_odd_small_and_large(self):
        for problem in PROBLEMS:
            with self.subTest(problem.id):
                self.assertGreaterEqual(len(problem.sizes), 4)
                self.assertLessEqual(min(min(size.values()) for size in problem.sizes), 4)
                self.assertTrue(any(value > 4 and value % 4 for size in problem.sizes for value in size.values()))

    def test_prompts_say_what_is_needed(self):
        for problem in PROBLEMS:
            prompt = problem.prompt()
            with self.subTest(problem.id):
                self.assertIn(problem.signature, prompt)
                self.assertNotIn(problem.reference, prompt)
                for argument in problem.arguments:
                    self.assertIn(f"`{argument['name']}`" if argument["role"] != "size" else argument["name"], prompt)

    def test_records_are_kernel_checks(self):
        for problem in PROBLEMS:
            check = problem.record()["task"]["check"]
            with self.subTest(problem.id):
                exact = all(a["dtype"] in EXACT for a in check["arguments"] if a["role"] in ("out", "inout"))
                self.assertEqual(exact, check["rtol"] == 0)
                self.assertTrue(all(a["role"] != "out" or "values" not in a for a in check["arguments"]))


class Verified(unittest.TestCase):
    maxDiff = None

    def test_solutions_are_ok(self):
        found = verify([with_codes(problem, [problem.solution]) for problem in PROBLEMS])
        bad = {record["id"]: verdicts(record) for record in found
               if verdicts(record)[0]["status"] != "ok" or verdicts(record)[0].get("cheat")}
        self.assertEqual(bad, {})

    def test_faulty_ones_get_what_they_deserve(self):
        some = PROBLEMS[::FAULTY_STEP]
        found = verify([with_codes(p, [p.wrong_code(old, new) for _, old, new in p.wrong]) for p in some])
        bad = [(problem.id, old, new, verdict) for problem, record in zip(some, found)
               for (statuses, old, new), verdict in zip(problem.wrong, verdicts(record))
               if verdict["status"] not in statuses]
        self.assertEqual(bad, [])

    def test_none_is_gameable(self):
        found = verify([problem.record() for problem in PROBLEMS[::LINT_STEP]], "--lint-problem")
        bad = {record["id"]: record["lint"] for record in found if record["lint"]["gameable"]}
        self.assertEqual(bad, {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
