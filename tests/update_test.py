#!/usr/bin/env python3
"""rl-update from outside: kills and resumes, pipes that stay open, signals, exit statuses."""
import json
import os
import pathlib
import random
import signal
import struct
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


def floats(path, name):
    """A float32 tensor of a safetensors file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + length])[name]["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin:8 + length + end])


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
        out, published, rng, kills, seen = self.dir / "out", self.dir / "published", random.Random(3), 0, []
        keeping = ["--save-total-limit", "3", "--publish", published]
        for attempt in range(400):
            child = subprocess.Popen([TOOL, *flags, *keeping, "--out", out, "--resume", out], stdout=subprocess.PIPE)
            try:
                printed, _ = child.communicate(timeout=0.1 + rng.random() * (0.4 + 0.1 * attempt))
                self.assertEqual(child.returncode, 0)
                seen += steps(printed)
                break
            except subprocess.TimeoutExpired:
                child.kill()
                seen += steps(child.communicate()[0])
                kills += 1
            names = set(files(self.dir / "whole"))
            for checkpoint in [out] * out.exists() + list(self.dir.glob("out.step-*")):
                self.assertEqual(set(files(checkpoint)), names)
            if published.exists():
                self.assertEqual(set(files(published)), names - {"leap_optimizer.safetensors"})
            self.assertLessEqual(len(list(self.dir.glob("out.step-*"))), 3)  # one too many while it is removed
        self.assertGreater(kills, 0)
        self.assertEqual(files(out), files(self.dir / "whole"))
        self.assertEqual(sorted(path.name for path in self.dir.glob("out.step-*")), ["out.step-38", "out.step-39"])
        for kept in (38, 39):
            self.assertEqual(step_of(self.dir / f"out.step-{kept}"), kept)
        self.assertEqual(os.readlink(self.dir / "latest"), "out")
        self.assertEqual(files(published)["model.safetensors"], files(out)["model.safetensors"])
        self.assertEqual([path.name for path in self.dir.iterdir() if path.name.startswith(".")], [])
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

    def test_weights_every_step_and_the_checkpoint_now_and_then(self):
        out, published = self.dir / "out", self.dir / "published"
        flags = [*STEP, "--save-steps", "3", "--publish", published]
        child = subprocess.Popen([TOOL, *flags, "--out", out], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for number, line in enumerate(LINES, 1):
            child.stdin.write(line)
            child.stdin.flush()
            child.stdout.readline()
            self.assertEqual(step_of(published), number)
            self.assertEqual(out.exists() and step_of(out), 3 if number >= 3 else False)
        child.communicate()
        self.assertEqual(files(published)["model.safetensors"], files(out)["model.safetensors"])
        for where in (out, GOLDEN / "model"):
            self.assertEqual(update(*STEP, "--out", self.dir / "other", "--publish", where).returncode, 2, where)
        (self.dir / "latest").mkdir()
        self.assertEqual(update(*STEP, "--out", self.dir / "other", "--save-total-limit", "2").returncode, 2)

    def test_steps_on_a_batch_end_when_the_policy_has_moved_far(self):
        flags = ["--model", GOLDEN / "model", "--records-per-step", "1", "--num-iterations", "4", "--old-logprobs", "recompute",
                 "--lr", "3e-2"]
        free = [json.loads(line) for line in update(*flags, "--out", self.dir / "free", stdin=b"".join(LINES)).stdout.splitlines()]
        limit = sorted(m["approx_kl"] for m in free)[len(free) // 2]
        flags += ["--target-kl", str(limit)]
        done = update(*flags, "--out", self.dir / "whole", stdin=b"".join(LINES))
        metrics = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertLess(len(metrics), len(free))
        iteration = 0
        for m in metrics:
            self.assertEqual(m.get("kl_stop", False), iteration > 0 and m["approx_kl"] > limit, m)
            self.assertEqual(m.get("skipped", False), m.get("kl_stop", False))
            iteration = 0 if m.get("kl_stop") else (iteration + 1) % 4
        stops = [i for i, m in enumerate(metrics, 1) if m.get("kl_stop")]
        self.assertGreater(len(stops), 0)
        state = json.loads((self.dir / "whole" / "leap_state.json").read_text())
        self.assertEqual((state["step"], state["updates"]), (len(metrics), len(metrics) - len(stops)))
        for stop in {1, stops[0] - 1, stops[0], stops[0] + 1, len(metrics) - 1} - {0, len(metrics)}:
            out = self.dir / f"part{stop}"
            update(*flags, "--out", out, "--max-steps", str(stop), stdin=b"".join(LINES))
            self.assertEqual(step_of(out), stop)
            update(*flags, "--out", out, "--resume", out, stdin=b"".join(LINES))
            self.assertEqual(files(out), files(self.dir / "whole"), stop)

    def test_layers_computed_again_leave_the_same_bytes(self):
        for extra in ([], ["--loss", "gspo"], ["--lora-rank", "2"], ["--dtype", "bfloat16"]):
            for name, flags in (("kept", []), ("again", ["--gradient-checkpointing"])):
                done = update(*STEP, *extra, *flags, "--out", self.dir / (name + "".join(extra)), stdin=b"".join(LINES))
                self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(files(self.dir / ("again" + "".join(extra))), files(self.dir / ("kept" + "".join(extra))), extra)

    def test_small_updates_in_bfloat16_are_not_lost(self):
        flags = ["--model", GOLDEN / "model", "--weight-decay", "0", "--num-iterations", "60"]
        moved = {}
        for dtype in ("float32", "bfloat16"):
            out = self.dir / dtype
            done = update(*flags, "--lr", "2e-6", "--dtype", dtype, "--out", out, stdin=b"".join(LINES))
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            losses = [json.loads(line)["loss"] for line in done.stdout.splitlines()]
            moved[dtype] = floats(out / "model.safetensors", "model.layers.0.mlp.up_proj.weight")
            self.assertTrue(all(abs(loss) < 10 for loss in losses))
        start = floats(GOLDEN / "model" / "model.safetensors", "model.layers.0.mlp.up_proj.weight")
        way = {dtype: [b - a for a, b in zip(start, weights)] for dtype, weights in moved.items()}
        # Sixty updates of 2e-6 on weights of about 0.4: each is far below what bfloat16 can add to them (w / 256).
        size = {dtype: sum(map(abs, steps)) / len(steps) for dtype, steps in way.items()}
        self.assertGreater(size["bfloat16"], 0.7 * size["float32"])
        self.assertGreater(size["float32"], 5e-5)
        along = sum(a * b for a, b in zip(*way.values())) / len(start)
        self.assertGreater(along, 0.8 * size["float32"] ** 2)

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
                      ["--loss", "sft", "--train", "decomposition"], ["--dtype", "float16"], ["--target-kl", "-1"],
                      ["--loss", "sft", "--target-kl", "1"], ["--save-total-limit", "0"], ["--records-per-step", "-1"], ["--no-such"]):
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
