#!/usr/bin/env python3
"""leap-verify on kernels in many styles (kernels/styles.txt), for problems of the examples: each gets a status that it
deserves, and the same one in the sandbox for machines without namespaces. Usage: kernel_styles_test.py BIN"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "support"))
from sandbox_here import flags_here  # noqa: E402

TOOL = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve() / "leap-verify"
LIMITS = {"cpu_s": 20, "wall_s": 120, "memory_mb": 1024}


def cases():
    """(title, statuses, record) of each kernel."""
    problems = {}
    with (HERE.parent / "examples/problems/kernels.jsonl").open() as lines:
        for line in lines:
            record = json.loads(line)
            problems[record["id"]] = record["task"] | {"limits": LIMITS}
    for part in re.split(r"^=== ", (HERE / "kernels/styles.txt").read_text(), flags=re.M)[1:]:
        head, code = part.split("\n", 1)
        problem, statuses, title = head.split(" | ")
        yield title, statuses.split("|"), {"id": title, "task": problems[problem], "rollouts": [{"turns": [{"code": code}]}]}


class Styles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = list(cases())
        cls.text = "".join(json.dumps(record) + "\n" for *_, record in cls.cases).encode()

    def verdicts(self, *options):
        done = subprocess.run([TOOL, *options], input=self.text, capture_output=True, timeout=1100)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return [json.loads(line)["rollouts"][0]["turns"][0]["verdict"] for line in done.stdout.splitlines()]

    def test_deserved(self):
        for options, flags in (((), flags_here(TOOL)), (("--sandbox", "landlock", "--order", "5"), ["landlock"])):
            for (title, statuses, _), verdict in zip(self.cases, self.verdicts(*options)):
                with self.subTest(title, options=options):
                    self.assertIn(verdict["status"], statuses, verdict["feedback"])
                    self.assertEqual(verdict["flags"], flags)


if __name__ == "__main__":
    unittest.main(argv=["kernel_styles_test", *sys.argv[1:]])
