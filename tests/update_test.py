#!/usr/bin/env python3
"""rl-update from outside: kills and resumes, pipes that stay open, signals, exit statuses."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TOOL = BIN / "rl-update"
GOLDEN = pathlib.Path(__file__).parent / "golden" / "training"
MODEL = pathlib.Path(__file__).resolve().parents[1] / "models" / "smollm2"
LINES = (GOLDEN / "in.jsonl").read_bytes().splitlines(keepends=True)
STEP = ["--model", GOLDEN / "model", "--lr", "1e-3", "--records-per-step", "1"]

if not TOOL.exists():
    print("rl-update is not built (LEAP_TORCH=OFF)")
    sys.exit(77)


def update(*flags, stdin=b"", **options):
    return subprocess.run([TOOL, *flags], input=stdin, timeout=300, **{"capture_output": True, **options})


def files(directory):
    return {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir()}


def steps(stdout):
    return [json.loads(line)["step"] for line in stdout.splitlines()]


def step_of(directory):
    return json.loads(pathlib.Path(directory, "leap_state.json").read_text())["step"]


class Update(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="leap-update-")
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def test_killed_at_any_moment_and_resumed(self):
        source = self.dir / "in.jsonl"
        source.write_bytes(b"".join(LINES) * 5)
        flags = [*STEP, "--num-iterations", "2", "--save-steps", "1", "--old-logprobs", "recompute", source]
        whole = update(*flags, "--out", self.dir / "whole")
        self.assertEqual((whole.returncode, whole.stderr), (0, b""))
        self.assertEqual(steps(whole.stdout), list(range(1, 41)))
        out, rng, kills, seen = self.dir / "out", random.Random(3), 0, []
        for attempt in range(400):
            child = subprocess.Popen([TOOL, *flags, "--out", out, "--resume", out], stdout=subprocess.PIPE)
            try:
                printed, _ = child.communicate(timeout=0.1 + rng.random() * (0.4 + 0.1 * attempt))
                self.assertEqual(child.returncode, 0)
                seen += steps(printed)
                break
            except subprocess.TimeoutExpired:
                child.kill()
                seen += steps(child.communicate()[0])
                kills += 1
            if out.exists():
                self.assertEqual(set(files(out)), set(files(self.dir / "whole")))
        self.assertGreater(kills, 0)
        self.assertEqual(files(out), files(self.dir / "whole"))
        # A metrics line is printed after its checkpoint: at a kill in between it is lost, but never printed twice.
        self.assertEqual(seen, sorted(set(seen)))

    def test_a_pipe_that_stays_open(self):
        out = self.dir / "out"
        child = subprocess.Popen([TOOL, *STEP, "--save-steps", "1", "--out", out], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        for number, line in enumerate(LINES[:2], 1):
            child.stdin.write(line)
            child.stdin.flush()
            self.assertEqual(json.loads(child.stdout.readline())["step"], number)
            self.assertEqual(step_of(out), number)
        printed, _ = child.communicate()
        self.assertEqual((child.returncode, printed), (0, b""))

    def test_max_steps_does_not_wait_for_more_input(self):
        out = self.dir / "out"
        child = subprocess.Popen([TOOL, *STEP, "--max-steps", "1", "--out", out], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        child.stdin.write(LINES[0])
        child.stdin.flush()
        self.assertEqual(child.wait(timeout=120), 0)
        self.assertEqual(step_of(out), 1)
        child.communicate()

    def test_interrupt_saves_finished_steps_alone(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            out = self.dir / f"out{number}"
            child = subprocess.Popen([TOOL, *STEP[:-1], "2", "--out", out], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            child.stdin.write(b"".join(LINES[:3]))
            child.stdin.flush()
            self.assertEqual(json.loads(child.stdout.readline())["step"], 1)
            child.send_signal(number)
            self.assertEqual(child.wait(timeout=120), 128 + number)
            self.assertEqual(child.communicate()[0], b"")
            self.assertEqual(step_of(out), 1)

    def test_stopped_runs(self):
        def stopped(status, *flags, stdin=b"".join(LINES), message=r"[^\n]+", out=self.dir / "none"):
            done = update(*flags, "--out", out, stdin=stdin)
            self.assertEqual(done.returncode, status, (flags, done.stderr))
            self.assertRegex(done.stderr.decode(), rf"^rl-update: {message}\n$")
            return done

        stopped(3, *STEP[:-2], stdin=LINES[0] + b"{\n", message=r"line 2: [^\n]+")
        self.assertFalse((self.dir / "none").exists())
        stopped(3, "--model", self.dir / "nowhere")
        stopped(3, "--continue", GOLDEN / "model", message=r"[^\n]+no checkpoint[^\n]+")
        for flags in (["--loss", "ppo"], ["--lr", "nan"], ["--lr", "-1"], ["--schedule", "cosine"], ["--delta", "0"],
                      ["--train", "sft"], ["--num-iterations", "0"], ["--adam-beta1", "1"], ["--tokens-per-batch", "0"],
                      ["--loss", "sft", "--train", "decomposition"], ["--records-per-step", "-1"], ["--no-such"]):
            stopped(2, "--model", GOLDEN / "model", *flags)
        stopped(2)  # no --model
        self.assertEqual(update("--model", GOLDEN / "model").returncode, 2)  # no --out
        self.assertEqual(list(self.dir.iterdir()), [])
        stopped(1, *STEP, "--keep-going", stdin=LINES[0] + b"{\n" + LINES[1], message=r"line 2: [^\n]+",
                out=self.dir / "kept")
        self.assertEqual(step_of(self.dir / "kept"), 2)
        stopped(2, *STEP, out=self.dir / "kept", message=r"[^\n]+not empty[^\n]+")

    def test_full_and_closed_stdout(self):
        with open("/dev/full", "wb") as full:
            done = update(*STEP, "--out", self.dir / "full", stdin=LINES[0], capture_output=False, stdout=full,
                          stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3)
        closed = subprocess.run(["bash", "-c", '"$@" >&-', "-", TOOL, *STEP, "--out", self.dir / "closed"],
                                input=LINES[0], capture_output=True, timeout=120)
        self.assertEqual(closed.returncode, 3)

    def test_nothing_but_metrics_on_stdout_and_summary(self):
        summary = self.dir / "summary.json"
        done = update(*STEP, "--out", self.dir / "out", "--summary", summary, stdin=b"".join(LINES))
        self.assertEqual(steps(done.stdout), [1, 2, 3, 4])
        written = json.loads(summary.read_text())
        self.assertEqual([written[key] for key in ("tool", "records", "failed", "steps", "step")],
                         ["rl-update", 4, 0, 4, 4])
        again = update(*STEP, "--out", self.dir / "again", stdin=b"".join(LINES))

        def plain(stdout):
            return [{k: v for k, v in json.loads(line).items() if k != "measured"} for line in stdout.splitlines()]

        self.assertEqual(plain(again.stdout), plain(done.stdout))
        self.assertEqual(files(self.dir / "again"), files(self.dir / "out"))

    def test_the_ratio_of_a_policy_to_itself_is_one(self):
        if not MODEL.exists() or not (BIN / "leap-sample").exists():
            self.skipTest("no embedded model")
        problems = [{"id": "text", "prompt": "def add(a, b):\n    return"},
                    {"id": "chat", "prompt": [{"role": "user", "content": "Write a Python function that doubles n."}]}]
        sampled = subprocess.run([BIN / "leap-sample", "--model", MODEL, "-n", "2", "--max-tokens", "24", "--temperature", "0.8"],
                                 input="".join(json.dumps(p) + "\n" for p in problems).encode(), capture_output=True,
                                 timeout=600)
        self.assertEqual((sampled.returncode, sampled.stderr), (0, b""))
        lines = b""
        for record in map(json.loads, sampled.stdout.splitlines()):
            for sign, rollout in zip((1, -1), record["rollouts"]):
                rollout["turns"][0]["advantage"] = sign
            lines += json.dumps(record).encode() + b"\n"
        done = update("--model", MODEL, "--out", self.dir / "out", stdin=lines)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        metrics = json.loads(done.stdout)
        self.assertEqual((metrics["sequences"], metrics["recomputed"]), (4, 0))
        for name in ("ratio_min", "ratio_mean", "ratio_max"):
            self.assertLess(abs(metrics[name] - 1), 1e-4, metrics)


if __name__ == "__main__":
    unittest.main()
