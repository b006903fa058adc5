#!/usr/bin/env python3
"""Every HumanEval reference solution is `ok`, every broken one is not, at -j1 and -j2 alike."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = os.environ.get("LEAP_PYTHON", str(ROOT / ".venv/bin/python"))


def script(name, *flags, stdin=b""):
    return subprocess.run([PYTHON, ROOT / "scripts" / name, *flags], input=stdin, capture_output=True, check=True).stdout


def statuses(text, *flags):
    done = subprocess.run([BIN / "leap-verify", *flags], input=text, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr.decode()
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return {r["id"]: r["rollouts"][0]["turns"][0]["verdict"]["status"] for r in records}


@unittest.skipUnless(pathlib.Path(PYTHON).exists(), "needs the project's Python environment")
class HumanEval(unittest.TestCase):
    def test_references_and_broken_ones(self):
        problems = script("import-humaneval")
        references = script("with-solution", stdin=problems)
        broken = script("with-solution", "--broken", stdin=problems)
        found = statuses(references)
        self.assertEqual(len(found), 164)
        self.assertEqual({k: v for k, v in found.items() if v != "ok"}, {})
        wrong = statuses(broken)
        self.assertEqual(len(wrong), 164)
        self.assertEqual([k for k, v in wrong.items() if v == "ok"], [])
        self.assertEqual(statuses(broken, "-j1"), wrong)


if __name__ == "__main__":
    unittest.main(argv=["humaneval_test"])
