#!/usr/bin/env python3
"""decomp-split and decomp-recombine when things go wrong: empty input, hostile records, kills and --resume, a full disk.
Nothing is left behind."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from leftovers import descendants  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TASK = {"check": {"type": "stdio", "cases": [{"stdin": "1 2 3\n", "stdout": "6\n"}, {"stdin": "4\n", "stdout": "4\n"}]}}
COMPLETION = 'def read() -> list[int]:\n    """The numbers."""\n    ...\n\ndef total(x: list[int]) -> int:\n    "Sum."\n'
COMPLETION += '\nprint(total(read()))\n'
READS = ["def read():\n    return list(map(int, input().split()))", "def read():\n    return [1, 2, 3]"]
TOTALS = ["def total(x):\n    return sum(x)", "def total(x):\n    return x[0]", "def total(x):\n    while len(x) != 2: pass"]


def function(name, codes, **more):
    return {"name": name, "implementations": [dict(code=code, **more) for code in codes]}


def sampled(k):
    return {"id": f"r{k}", "task": TASK, "decompositions": [{"completion": COMPLETION}, {"completion": f"x = {k}"}]}


def implemented(k, looping=False):
    functions = [function("read", [f"# {k}\n{code}" for code in READS]), function("total", TOTALS[: 3 if looping else 2])]
    task = dict(TASK, limits={"cpu_s": 0.2})
    return {"id": f"r{k}", "task": task, "decompositions": [{"functions": functions, "main": "print(total(read()))"},
                                                            {"functions": [], "error": "line 1: no"}]}


def lines(records):
    return "".join(json.dumps(r) + "\n" for r in records).encode()


def run(tool, *flags, stdin=b"", **options):
    return subprocess.run([BIN / tool, *flags], input=stdin, capture_output=True, timeout=300, **options)


def plain(text):
    """Records without what was measured."""
    def without(value):
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k != "measured"}
        return [without(v) for v in value] if isinstance(value, list) else value
    return [without(json.loads(line)) for line in text.splitlines()]


JOBS = (("decomp-split", sampled), ("decomp-recombine", implemented))


class DecompTools(unittest.TestCase):
    def test_empty_and_one(self):
        for tool, make in JOBS:
            done = run(tool)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
            one = run(tool, stdin=lines([make(1)])[:-1])
            self.assertEqual((one.returncode, one.stdout.count(b"\n"), one.stderr), (0, 1, b""))
            other = b'{"id":"x","rollouts":[{"turns":[]}],"decompositions":[]}\n'
            self.assertEqual(run(tool, stdin=other).stdout, other)

    def test_usage(self):
        for flags in (["--programs", "0"], ["--programs", "-1"], ["--programs", "x"], ["--boxes", "some"], ["--beta", "0"],
                      ["--beta", "nan"], ["--reward", "all"], ["--mode", "fast"], ["--min-functions", "-1"]):
            self.assertEqual(run("decomp-recombine", *flags).returncode, 2, flags)
        self.assertEqual(run("decomp-split", "--max-functions", "0").returncode, 2)

    def test_hostile_records(self):
        bads = [{"decompositions": 3}, {"decompositions": [3]}, {"decompositions": {"a": 1}},
                {"task": 3, "decompositions": implemented(0)["decompositions"]},
                {"task": {"language": "cuda"}, "decompositions": [{"completion": "x"}]}]
        only_recombine = [
            {"task": TASK, "decompositions": [{"completion": "x"}]}, {"task": TASK, "decompositions": [{"functions": 3}]},
            {"task": TASK, "decompositions": [{"functions": [{}]}]}, {"task": TASK, "decompositions": [{"functions": [None]}]},
            {"task": TASK, "decompositions": [{"functions": [{"name": "f", "implementations": [1]}]}]},
            {"task": {"check": {"type": "stdio", "cases": []}}, "decompositions": implemented(0)["decompositions"]},
            {"task": TASK, "decompositions": [{"functions": [function(f"f{i}", READS) for i in range(200)]}]},
            {"task": TASK, "decompositions": [{"functions": [function("f", ["x = %d" % i for i in range(5000)])]}]}]
        for tool, make in JOBS:
            mine = bads + only_recombine if tool == "decomp-recombine" else [bad for bad in bads if bad.get("task") != 3]
            records = [record for k, bad in enumerate(mine) for record in (dict(bad, id=f"bad{k}"), make(k))]
            done = run(tool, "--keep-going", stdin=lines(records))
            self.assertEqual(done.returncode, 1)
            told = done.stderr.decode().splitlines()
            self.assertEqual([line.split(": ")[:2] for line in told], [[tool, f"line {2 * k + 1}"] for k in range(len(mine))])
            got = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([r["id"] for r in got], [r["id"] for r in records])
            self.assertEqual(got[::2], records[::2])
            stopped = run(tool, stdin=lines(records))
            self.assertEqual((stopped.returncode, stopped.stdout), (3, b""))

    def test_token_arrays_pass_as_text(self):
        ids = '"completion_ids":[' + ", ".join(["7"] * 40) + '],"logprobs":[' + ", ".join(["-0.1250001"] * 40) + "]"
        record = json.dumps(implemented(0))
        record = record.replace('"error": "line 1: no"', '"error": "line 1: no", ' + ids)
        out = run("decomp-recombine", stdin=record.encode() + b"\n").stdout.decode()
        self.assertIn(ids, out)

    def test_order_jobs_and_seeds(self):
        text = lines([implemented(k) for k in range(6)])
        want = plain(run("decomp-recombine", "-j", "1", "--outcomes", stdin=text).stdout)
        self.assertEqual(plain(run("decomp-recombine", "-j", "3", "--outcomes", stdin=text).stdout), want)
        for record in want:
            self.assertEqual(record["decompositions"][0]["recombination"]["solved"], 1)
            self.assertEqual([b["outcomes"] for b in record["decompositions"][0]["recombination"]["boxes"]],
                             ["PP", "WP", "PW", "WW"])
        some = ["--programs", "2", "--boxes", "all"]
        drawn = [plain(run("decomp-recombine", *some, "--seed", s, stdin=text).stdout) for s in ("1", "1", "2")]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_kill_and_resume(self):
        for tool, make in JOBS:
            text = lines([make(k) for k in range(30)])
            want = plain(run(tool, stdin=text).stdout)
            with tempfile.TemporaryDirectory() as folder:
                source, out = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
                source.write_bytes(text)
                for stop in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
                    job = subprocess.Popen([BIN / tool, "--resume", str(out), str(source)], stderr=subprocess.DEVNULL)
                    had = out.stat().st_size if out.exists() else 0
                    end = time.monotonic() + 60
                    while time.monotonic() < end and job.poll() is None and (
                            not out.exists() or out.stat().st_size <= had):
                        time.sleep(0.005)
                    children = descendants(job.pid)
                    job.send_signal(stop)
                    self.assertIn(job.wait(60), (0, -stop, 128 + stop))
                    end = time.monotonic() + 30
                    while any(pathlib.Path(f"/proc/{p}/cwd").exists() for p in children) and time.monotonic() < end:
                        time.sleep(0.05)
                    self.assertFalse([p for p in children if pathlib.Path(f"/proc/{p}/cwd").exists()])
                done = run(tool, "--resume", str(out), str(source))
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
                self.assertEqual(plain(out.read_bytes()), want)
                with open(out, "r+b") as file:
                    file.truncate(out.stat().st_size - 7)
                self.assertEqual(run(tool, "--resume", str(out), str(source)).returncode, 0)
                self.assertEqual(plain(out.read_bytes()), want)

    def test_a_signal_lets_lines_in_flight_finish(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "in.jsonl")
            source.write_bytes(lines([implemented(k, looping=True) for k in range(40)]))
            for number in (signal.SIGTERM, signal.SIGINT):
                job = subprocess.Popen([BIN / "decomp-recombine", "-j", "1", str(source)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
                first = job.stdout.readline()
                time.sleep(0.1)  # in the middle of a line that takes CPU time
                job.send_signal(number)
                rest, told = job.communicate(timeout=120)
                self.assertEqual((job.returncode, told), (128 + number, b""))
                self.assertLess((first + rest).count(b"\n"), 40)
                for record in plain(first + rest):
                    self.assertEqual(record["decompositions"][0]["recombination"]["solved"], 1)

    def test_full_disk_and_closed_stdout(self):
        for tool, make in JOBS:
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BIN / tool], input=lines([make(0)]), stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr.decode(), rf"^{tool}: [^\n]*No space left on device\n$")
            job = subprocess.Popen([BIN / tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            job.stdout.close()
            job.communicate(lines([make(0)]))
            self.assertIn(job.returncode, (141, -signal.SIGPIPE))

    def test_budget(self):
        done = run("decomp-recombine", "--mode", "run", "--budget-s", "0.5", "--outcomes", stdin=lines([implemented(0, True)]))
        record = json.loads(done.stdout)
        found = record["decompositions"][0]["recombination"]
        if not found["settled"]:  # a quick machine may be done
            self.assertLess(found["evaluated"], 6)
            self.assertTrue(record["diagnostics"]["budget_ran_out"])
            self.assertIsNone(record["decompositions"][1]["advantage"])

    def test_summary(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "s.json")
            run("decomp-recombine", "--summary", str(path), stdin=lines([implemented(k) for k in range(3)]))
            summary = json.loads(path.read_text())
            self.assertEqual([summary[k] for k in ("records", "failed", "decompositions", "share_unparsed", "mean_functions",
                                                   "share_single", "programs", "evaluated", "solved_programs", "unsettled")],
                             [3, 0, 6, 0.5, 2, 0, 12, 12, 3, 0])
            self.assertEqual(summary["solve_rate"]["decompositions"][-1]["rate"], 1)

    def test_memory_is_flat(self):
        """Many decompositions in a row take no more memory than few."""
        if os.environ.get("LEAP_SANITIZERS"):
            self.skipTest("sanitizers keep memory")
        peaks = []
        for count in (20, 220):
            with tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder, "in.jsonl")
                source.write_bytes(lines([implemented(k) for k in range(count)]))
                job = subprocess.Popen([BIN / "decomp-recombine", str(source)], stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(job.pid, 0)
                job.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(status, 0)
                peaks.append(usage.ru_maxrss)
        self.assertLess(peaks[1], peaks[0] + 8000, peaks)


if __name__ == "__main__":
    unittest.main()
