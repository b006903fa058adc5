#!/usr/bin/env python3
"""rl-update in several processes: the result of one, whatever happens to one of them."""
import array
import json
import math
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TOOL = BIN / "rl-update"
ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "training"
VOCAB, HIDDEN, INNER, LAYERS = 4000, 32, 48, 2

# Enough for a loaded machine; a test that hangs fails.
PATIENCE = 120


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(rank=None, size=None, port=None, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "TORCHELASTIC_")) and
           k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
    env["OMP_NUM_THREADS"] = "1"
    if rank is not None:
        env.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    env.update(more)
    return env


class Job:
    """`size` processes with the same command line; the first one's stdin and stdout are pipes."""

    def __init__(self, size, *flags, port=None, started=None):
        port = port or free_port()
        self.ranks = [subprocess.Popen([TOOL, *map(str, flags)], env=environment(rank, size, port),
                                       stdin=subprocess.DEVNULL if rank else subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                      for rank in range(size if started is None else started)]

    def finish(self, stdin=b""):
        """[(exit status, stdout, stderr)] of all ranks."""
        deadline, out = time.monotonic() + PATIENCE, []
        try:
            for rank, child in enumerate(self.ranks):
                printed, said = child.communicate(None if rank or stdin is None else stdin, max(1, deadline - time.monotonic()))
                out.append((child.returncode, printed.decode(), said.decode()))
        finally:
            for child in self.ranks:
                child.kill()
        return out


def one(*flags, stdin=b""):
    return subprocess.run([TOOL, *map(str, flags)], input=stdin, capture_output=True, timeout=PATIENCE, env=environment())


def tensors(path):
    """{name: array of floats} of a safetensors file in float32."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, base = json.loads(data[8:8 + length]), 8 + length
    out = {}
    for name, info in header.items():
        if name != "__metadata__":
            assert info["dtype"] == "F32", info
            out[name] = array.array("f", data[base + info["data_offsets"][0]:base + info["data_offsets"][1]])
    return out


def files(directory):
    return {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir()}


def state(directory):
    return json.loads(pathlib.Path(directory, "leap_state.json").read_text())


def metrics(stdout):
    return [{k: v for k, v in json.loads(line).items() if k != "measured"} for line in stdout.splitlines()]


def write_model(directory):
    """A random Llama with a matrix large enough to be sent on its own."""
    directory.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": VOCAB, "hidden_size": HIDDEN,
              "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
              "head_dim": 8, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "eos_token_id": 2,
              "max_position_embeddings": 512, "tie_word_embeddings": False, "torch_dtype": "float32"}
    (directory / "config.json").write_text(json.dumps(config))
    shapes = {"model.embed_tokens.weight": [VOCAB, HIDDEN], "lm_head.weight": [VOCAB, HIDDEN], "model.norm.weight": [HIDDEN]}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        shapes |= {at + "input_layernorm.weight": [HIDDEN], at + "post_attention_layernorm.weight": [HIDDEN],
                   at + "self_attn.q_proj.weight": [32, HIDDEN], at + "self_attn.k_proj.weight": [16, HIDDEN],
                   at + "self_attn.v_proj.weight": [16, HIDDEN], at + "self_attn.o_proj.weight": [HIDDEN, 32],
                   at + "mlp.gate_proj.weight": [INNER, HIDDEN], at + "mlp.up_proj.weight": [INNER, HIDDEN],
                   at + "mlp.down_proj.weight": [HIDDEN, INNER]}
    rng, header, body = random.Random(5), {}, array.array("f")
    for name, shape in shapes.items():
        begin = 4 * len(body)
        if len(shape) == 1:
            body.extend([1.0] * shape[0])
        else:
            body.extend(rng.uniform(-0.3, 0.3) for _ in range(math.prod(shape)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, 4 * len(body)]}
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body.tobytes())


def write_records(path, count):
    """Records of 3 rollouts with 1 or 2 turns, the second one's prompt going on from the first."""
    rng = random.Random(9)

    def ids(n):
        return [rng.randrange(3, VOCAB) for _ in range(n)]

    with path.open("w") as out:
        for number in range(count):
            prompt, rollouts = ids(rng.randrange(3, 12)), []
            for _ in range(3):
                turns, before = [], prompt
                for _ in range(rng.choice([1, 2])):
                    done = ids(rng.randrange(2, 25))
                    turns.append({"prompt_ids": before, "completion_ids": done, "completion": "",
                                  "logprobs": [rng.uniform(-9, -7.5) for _ in done],
                                  "ref_logprobs": [rng.uniform(-9, -7.5) for _ in done],
                                  "finish_reason": rng.choice(["stop", "stop", "length"]),
                                  "advantage": rng.choice([0, 0.5, -0.5, 1.25, -0.75]),
                                  "sampling": {"temperature": 0.9, "max_tokens": 32}})
                    before = before + done + ids(4)
                rollouts.append({"turns": turns, "reward": rng.random()})
            solutions = [{"prompt_ids": prompt, "completion_ids": ids(9)}, {"prompt_ids": prompt, "completion_ids": ids(5)}]
            out.write(json.dumps({"id": f"r{number}", "rollouts": rollouts, "solutions": solutions}) + "\n")


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="leap-ranks-")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.dir = pathlib.Path(cls.scratch.name)
        cls.model, cls.input = cls.dir / "model", cls.dir / "in.jsonl"
        write_model(cls.model)
        write_records(cls.input, 6)
        cls.step = ["--model", cls.model, "--lr", "1e-3", "--records-per-step", "2"]

    def fresh(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.dir)) / "out"

    def close(self, a, b, what):
        """Each tensor of two checkpoints, by the norm of the difference."""
        self.assertEqual(set(files(a)), set(files(b)), what)
        for name in ("model.safetensors", "adapter_model.safetensors", "leap_optimizer.safetensors"):
            if not (a / name).exists():
                continue
            mine, other = tensors(a / name), tensors(b / name)
            self.assertEqual(list(mine), list(other), what)
            for key in mine:
                size = math.sqrt(math.fsum(x * x for x in mine[key]))
                apart = math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(mine[key], other[key])))
                self.assertLessEqual(apart, 1e-5 * size, f"{what}: {key}")
        self.assertEqual(state(a), state(b), what)

    def together(self, size, *flags, stdin=b"", alone=None, what=""):
        """Runs it in `size` processes, and compares with one."""
        out, single = self.fresh(), alone or self.fresh()
        if alone is None:
            done = one(*flags, "--out", single, stdin=stdin)
            self.assertEqual((done.returncode, done.stderr), (0, b""), what)
            (single.parent / "metrics").write_bytes(done.stdout)
        ranks = Job(size, *flags, "--out", out).finish(stdin)
        for rank, (code, printed, said) in enumerate(ranks):
            self.assertEqual((code, said), (0, ""), f"{what}: rank {rank} of {size}")
            if rank:
                self.assertEqual(printed, "")
        expected, got = metrics((single.parent / "metrics").read_text()), metrics(ranks[0][1])
        self.assertEqual(len(got), len(expected), what)
        for a, b in zip(got, expected):
            self.assertEqual(list(a), list(b))
            for key in a:
                if key not in ("forward_tokens", "shared_tokens"):  # what is shared lies on one rank
                    self.assertAlmostEqual(a[key], b[key], delta=1e-5 * max(1, abs(b[key])), msg=f"{what}: {key}")
        self.close(out, single, f"{what} on {size}")
        return single

    def test_several_processes_do_what_one_does(self):
        iterated = ["--num-iterations", "2", "--old-logprobs", "recompute", "--is-cap", "1.5"]
        cases = {"dr_grpo": [], "grpo": ["--tokens-per-batch", "40"], "dapo": ["--beta", "0.1", "--mask-truncated"], "gspo": iterated,
                 "cispo": ["--beta", "0.1", "--ref-model", self.model, "--max-grad-norm", "0.01"],
                 "sft": ["--lora-rank", "4", "--adam-epsilon", "1e-3"]}
        for loss, more in cases.items():
            alone = None
            for size in (2, 4) if loss in ("dr_grpo", "gspo", "sft") else (2,):
                alone = self.together(size, *self.step, "--loss", loss, *more, self.input, alone=alone, what=loss)

    def test_bnpo_divides_by_the_tokens_of_each_rank(self):
        lines = self.input.read_bytes().splitlines(keepends=True)[:1]
        record = json.loads(lines[0])
        record["rollouts"] = [{"turns": [{"prompt_ids": [5, 6], "completion_ids": [n] * n, "completion": "", "advantage": 1,
                                          "logprobs": [-8.0] * n}]} for n in (10, 4)]
        # One action a rank, so that the mean over tokens of each is what grpo takes of each action.
        self.input.parent.joinpath("two.jsonl").write_text(json.dumps(record) + "\n")
        flags = [*self.step, "--max-grad-norm", "0", "--adam-epsilon", "1e-4", self.input.parent / "two.jsonl"]
        alone = self.fresh()
        self.assertEqual(one(*flags, "--loss", "grpo", "--out", alone).returncode, 0)
        out = self.fresh()
        self.assertEqual([rank[0] for rank in Job(2, *flags, "--loss", "bnpo", "--out", out).finish()], [0, 0])
        self.close(out, alone, "bnpo")

    def test_a_pipe_with_fewer_actions_than_ranks(self):
        records = [json.loads(line) for line in self.input.read_text().splitlines()]
        records[0]["rollouts"] = [dict(records[0]["rollouts"][0], turns=records[0]["rollouts"][0]["turns"][:1])]
        records[0]["rollouts"][0]["turns"][0]["advantage"] = 1
        records[1]["rollouts"] = [dict(rollout, reward=None) for rollout in records[1]["rollouts"]]  # nothing to train
        stdin = b"".join(json.dumps(record).encode() + b"\n" for record in records[:4])
        self.together(4, "--model", self.model, "--lr", "1e-3", "--records-per-step", "1", stdin=stdin, what="pipe")

        out = self.fresh()
        job = Job(2, "--model", self.model, "--records-per-step", "1", "--save-steps", "1", "--out", out)
        for number in (1, 2):  # each step is taken while the pipe is open
            job.ranks[0].stdin.write(stdin.splitlines(keepends=True)[number - 1])
            job.ranks[0].stdin.flush()
            self.assertEqual(json.loads(job.ranks[0].stdout.readline())["step"], number)
            self.assertEqual(state(out)["step"], number)
        self.assertEqual([rank[0] for rank in job.finish()], [0, 0])

    def test_resume_with_another_number_of_processes(self):
        # Stopped between the two steps on a batch, whose old log-probs are in the checkpoint.
        flags = [*self.step, "--num-iterations", "2", "--old-logprobs", "recompute", self.input]
        whole = self.together(2, *flags, what="whole")
        out = self.fresh()
        for size, most in ((2, 1), (1, 3), (4, 6)):
            done = Job(size, *flags, "--max-steps", most, "--out", out, "--resume", out).finish()
            self.assertEqual([rank[0] for rank in done], [0] * size, done)
            self.assertEqual(state(out)["step"], most)
        self.close(out, whole, "2, 1, 4")

        twice = [self.fresh(), self.fresh()]  # the same number of processes: the same bytes
        self.assertEqual([rank[0] for rank in Job(2, *flags, "--out", twice[0]).finish()], [0, 0])
        for most in (3, 0):
            done = Job(2, *flags, "--max-steps", most, "--out", twice[1], "--resume", twice[1]).finish()
            self.assertEqual([rank[0] for rank in done], [0, 0], done)
        self.assertEqual(files(twice[0]), files(twice[1]))

    def running(self, size, out):
        """A job that has done some steps and has more to do than a test's time."""
        lines = self.input.read_bytes()
        job = Job(size, "--model", self.model, "--lr", "1e-4", "--records-per-step", "1", "--save-steps", "3", "--out", out)
        job.ranks[0].stdin.write(lines)
        job.ranks[0].stdin.flush()
        for _ in range(4):
            self.assertTrue(job.ranks[0].stdout.readline())
        return job

    def test_a_rank_that_is_killed_ends_the_job(self):
        for size, victim in ((4, 2), (2, 0)):
            out = self.fresh()
            job = self.running(size, out)
            job.ranks[victim].kill()
            began = time.monotonic()
            ends = job.finish(stdin=None if victim == 0 else b"")
            self.assertLess(time.monotonic() - began, 60)
            for rank, (code, _, said) in enumerate(ends):
                if rank != victim:
                    self.assertEqual(code, 3, said)
                    self.assertRegex(said, rf"^rl-update: rank {rank}: rank {victim} went away[^\n]*\n$")
            step = state(out)["step"]
            self.assertEqual(step % 3, 0)
            done = one("--model", self.model, "--lr", "1e-4", "--records-per-step", "1", "--out", out, "--resume", out, self.input)
            self.assertEqual((done.returncode, state(out)["step"]), (0, 6), done.stderr)

    def test_a_signal_to_one_ends_all_after_the_step(self):
        for target in (0, 2):
            out = self.fresh()
            job = self.running(3, out)
            job.ranks[target].send_signal(signal.SIGTERM)
            ends = job.finish(stdin=None)
            self.assertEqual([(code, said) for code, _, said in ends], [(143, "")] * 3)
            printed = metrics(ends[0][1])
            self.assertEqual(state(out)["step"], printed[-1]["step"] if printed else 4)

    def test_a_bad_record_ends_all_with_its_reason(self):
        out = self.fresh()
        first = self.input.read_bytes().splitlines(keepends=True)[0]
        ends = Job(2, "--model", self.model, "--records-per-step", "1", "--out", out).finish(first + b"{\n")
        self.assertEqual([code for code, _, _ in ends], [3, 3])
        for _, _, said in ends:
            self.assertRegex(said, r"^rl-update: rank \d: [^\n]*line 2: [^\n]+\n$")
        self.assertEqual(state(out)["step"], 1)  # and what was done is saved

    def test_who_cannot_join(self):
        flags = [*self.step, self.input, "--out", self.fresh()]

        def ends(message, job, status=3):
            for code, printed, said in job.finish():
                self.assertEqual((code, printed), (status, ""), said)
                self.assertRegex(said, rf"^rl-update: [^\n]*{message}[^\n]*\n$")

        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            child = subprocess.run([TOOL, *map(str, flags)], capture_output=True, timeout=PATIENCE,
                                   env=environment(0, 2, taken.getsockname()[1]))
        self.assertEqual(child.returncode, 3)
        self.assertRegex(child.stderr.decode(), r"^rl-update: MASTER_PORT \d+ is in use[^\n]+\n$")
        ends("no word from rank 2", Job(3, *flags, "--join-timeout", "6", started=2))
        alone = subprocess.run([TOOL, *map(str, flags), "--join-timeout", "1"], capture_output=True, timeout=PATIENCE,
                               env=environment(1, 2, free_port()))
        self.assertEqual(alone.returncode, 3)
        self.assertRegex(alone.stderr.decode(), r"^rl-update: no answer from rank 0 [^\n]+\n$")

        port = free_port()
        children = [subprocess.Popen([TOOL, *map(str, flags), "--seed", seed], env=environment(rank, 2, port), stderr=subprocess.PIPE)
                    for rank, seed in enumerate("12")]
        for child in children:
            said = child.communicate(timeout=PATIENCE)[1].decode()
            self.assertEqual(child.returncode, 3)
            self.assertRegex(said, r"^rl-update: [^\n]*rank 1 was started with other options[^\n]+\n$")

        for wrong in ({"RANK": "0"}, {"WORLD_SIZE": "2"}, {"RANK": "2", "WORLD_SIZE": "2"}, {"RANK": "x", "WORLD_SIZE": "2"},
                      {"RANK": "0", "WORLD_SIZE": "2"}, {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"},
                      {"SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}):
            done = subprocess.run([TOOL, *map(str, flags)], capture_output=True, timeout=PATIENCE, env=environment(**wrong))
            self.assertEqual(done.returncode, 2, (wrong, done.stderr))

    def test_other_ways_to_start(self):
        flags = [*map(str, self.step), str(self.input), "--max-steps", "1"]
        single = self.fresh()
        self.assertEqual(one(*flags, "--out", single).returncode, 0)

        out, port = self.fresh(), free_port()  # as srun does
        children = [subprocess.Popen([TOOL, *flags, "--out", str(out)], stdout=subprocess.DEVNULL,
                                     env=environment(SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_LOCALID=str(rank),
                                                     SLURM_STEP_ID="0", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
                    for rank in range(2)]
        self.assertEqual([child.wait(timeout=PATIENCE) for child in children], [0, 0])
        self.close(out, single, "srun")
        batch = self.fresh()  # a batch script is no step: one process
        done = subprocess.run([TOOL, *flags, "--out", str(batch)], capture_output=True, timeout=PATIENCE,
                              env=environment(SLURM_PROCID="0", SLURM_NTASKS="2"))
        self.assertEqual((done.returncode, files(batch)), (0, files(single)))

        out = self.fresh()
        done = subprocess.run([ROOT / "examples" / "train-ranks", "3", *flags, "--out", str(out)], capture_output=True,
                              timeout=PATIENCE, env=environment(PATH=f"{BIN}:{os.environ['PATH']}"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.close(out, single, "train-ranks")

        if shutil.which("torchrun"):
            out = self.fresh()
            done = subprocess.run(["torchrun", "--standalone", "--no-python", "--nproc-per-node", "2", TOOL, *flags, "--out", str(out)],
                                  capture_output=True, timeout=PATIENCE, env=environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.close(out, single, "torchrun")


if __name__ == "__main__":
    if not TOOL.exists():
        print("rl-update is not built (LEAP_TORCH=OFF)")
        sys.exit(77)
    probe = subprocess.run([TOOL, "--model", "m", "--out", "o", "--join-timeout", "0.1"], capture_output=True, env=environment(1, 2, 1))
    if b"built for one process" in probe.stderr:
        print(probe.stderr.decode())
        sys.exit(77)
    unittest.main()
