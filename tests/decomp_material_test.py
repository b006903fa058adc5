#!/usr/bin/env python3
"""examples/decompositions: built from its sources, as it stands; every problem recombines, right programs pass, and programs
drawn at random do what a plain `python3 prog.py` does."""
import itertools
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
FILE = ROOT / "examples" / "decompositions.jsonl"
DRAWN = 2  # programs a problem


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def letters_of(boxes, choice):
    (box,) = [b for b in boxes if all(c in (-1, i) for c, i in zip(b["choice"], choice))]
    return box["outcomes"]


def plain_letter(program, case, cpu_s):
    """What `python3 prog.py` does with a case of a stdio check: P, W, E or T."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "prog.py")
        path.write_text(program)
        done = subprocess.run(["/usr/bin/python3", path], input=case["stdin"], capture_output=True, text=True, check=False,
                              timeout=600, preexec_fn=lambda: signal.setitimer(signal.ITIMER_PROF, 4 * cpu_s))
    if done.returncode < 0:
        return "T"
    if done.returncode > 0:
        return "E"
    return "P" if done.stdout.split() == case["stdout"].split() else "W"


class Material(unittest.TestCase):
    def test_the_file_is_what_its_sources_make(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out.jsonl")
            subprocess.run([ROOT / "scripts" / "build-decompositions", "--out", out], check=True, capture_output=True)
            self.assertEqual(out.read_bytes(), FILE.read_bytes())

    def test_what_it_promises(self):
        kinds = set()
        self.assertGreaterEqual(len(records(FILE.read_text())), 12)
        for record in records(FILE.read_text()):
            functions = record["decompositions"][0]["functions"]
            self.assertIn(len(functions), range(3, 7), record["id"])
            for function in functions:
                self.assertIn(len(function["implementations"]), range(4, 9), (record["id"], function["name"]))
                kinds |= {i["kind"].split()[0] for i in function["implementations"]}
        self.assertEqual(kinds, {"right", "wrong", "slow", "raises", "loops"})

    def test_recombined(self):
        done = subprocess.run([BIN / "decomp-recombine", "--outcomes", "--boxes", "all", FILE], capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        seen = set()
        for record in records(done.stdout.decode()):
            decomposition, task = record["decompositions"][0], record["task"]
            found, functions = decomposition["recombination"], decomposition["functions"]
            with self.subTest(record["id"]):
                self.assertEqual(found["evaluated"], found["programs"])
                right = [[i for i, one in enumerate(f["implementations"]) if one["kind"] == "right"] for f in functions]
                for choice in itertools.product(*right):
                    self.assertEqual(set(letters_of(found["boxes"], choice)), {"P"}, choice)
                self.assertLess(found["solved"], found["programs"])
                self.assertGreaterEqual(decomposition["recombination"]["functions_used"], 2)
                seen |= set("".join(box["outcomes"] for box in found["boxes"]))
                if task["check"]["type"] != "stdio":
                    continue
                draw = random.Random(record["id"])
                for _ in range(DRAWN):
                    choice = [draw.randrange(len(f["implementations"])) for f in functions]
                    program = "\n".join(filter(None, [decomposition.get("preamble"), *(
                        f["implementations"][i]["code"] for f, i in zip(functions, choice)), decomposition.get("main")]))
                    letters = letters_of(found["boxes"], choice)
                    for letter, case in zip(letters, task["check"]["cases"]):
                        if letter != "T":
                            self.assertEqual(letter, plain_letter(program, case, task["limits"]["cpu_s"]), (choice, case))
        self.assertEqual(seen, {"P", "W", "E", "T"})


if __name__ == "__main__":
    unittest.main()
