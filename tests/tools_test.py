#!/usr/bin/env python3
"""What every tool shares: exit statuses, bad lines, order, --resume, full and closed outputs, signals."""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import leap_reference as reference  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TOOLS = sorted(p.name for pattern in ("leap-*", "decomp-*", "rl-*") for p in BIN.glob(pattern) if not p.name.endswith("-worker"))


def line(record):
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def run(tool, *flags, stdin=b"", **options):
    return subprocess.run([BIN / tool, *flags], input=stdin, capture_output=True, timeout=120, **options)


def groups(count, seed=5):
    rng = random.Random(seed)
    return [reference.random_group(rng, f"g{i}") for i in range(count)]


class Tools(unittest.TestCase):
    def test_help_version_usage(self):
        self.assertIn("leap-rank", TOOLS)
        for tool in TOOLS:
            with self.subTest(tool):
                shown = run(tool, "--help")
                self.assertEqual((shown.returncode, shown.stderr), (0, b""))
                self.assertIn(tool.encode(), shown.stdout)
                self.assertRegex(run(tool, "--version").stdout.decode(), rf"^{tool} \d+\.\d+\.\d+\n$")
                for bad in (["--no-such-option"], ["--keep-going=x"]):
                    wrong = run(tool, *bad)
                    self.assertEqual(wrong.returncode, 2, wrong)
                    self.assertRegex(wrong.stderr.decode(), rf"^{tool}: [^\n]+\n$")
                    self.assertEqual(wrong.stdout, b"")
        for flags in (["--easy-below", "1.5"], ["--easy-below", "-1"], ["--easy-below", "x"], ["--hopeless-above", "nan"],
                      ["--easy-below", "1e-1"], ["--easy-below", ""], ["--max-turns", "0"], ["--max-turns", "x"]):
            self.assertEqual(run("leap-prune", *flags).returncode, 2, flags)
        for flags in (["--reward", "none"], ["--gamma", "2"], ["--gamma", "nan"], ["-j", "0"], ["--k", "-1"]):
            self.assertEqual(run("leap-rank", *flags).returncode, 2, flags)

    def test_empty_input(self):
        for tool in ("leap-prune", "leap-rank"):
            done = run(tool)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_bad_lines(self):
        good = groups(3)
        bads = [b"nonsense", b"", b"[1]", b'"x"', b"{", b'{"id":"x","v":2,"rollouts":[]}', b'{"id":"\xff"}', b'{"a":1e999}',
                b'{"a":NaN}', b'{"id":"n"}', b'{"id":"e","rollouts":[]}', b'{"rollouts":[{"turns":[]}]}',
                b'{"rollouts":[{"turns":[{"code":"x"}]}]}', b'{"rollouts":[{"turns":[{"verdict":{}}]}]}',
                b'{"rollouts":[{"turns":[{"verdict":{"status":3}}]}]}', b'{"rollouts":3}', b'{"rollouts":[3]}']
        for tool in ("leap-prune", "leap-rank"):
            for bad in bads:
                text = line(good[0]) + bad + b"\n" + line(good[1])
                stopped = run(tool, stdin=text)
                self.assertEqual(stopped.returncode, 3, (tool, bad))
                self.assertRegex(stopped.stderr.decode("utf-8", "replace"), rf"^{tool}: line 2: [^\n]+\n$")
                self.assertEqual(stopped.stdout.count(b"\n"), 1)
                going = run(tool, "--keep-going", stdin=text)
                self.assertEqual(going.returncode, 1, (tool, bad))
                lines = going.stdout.split(b"\n")
                self.assertEqual(lines[1], bad)
                self.assertEqual([json.loads(lines[i])["id"] for i in (0, 2)], ["g0", "g1"])
                self.assertRegex(going.stderr.decode("utf-8", "replace"), rf"^{tool}: line 2: [^\n]+\n$")

    def test_files_and_last_line(self):
        good = groups(4)
        with tempfile.TemporaryDirectory() as folder:
            a, b = pathlib.Path(folder, "a.jsonl"), pathlib.Path(folder, "b.jsonl")
            a.write_bytes(line(good[0]) + line(good[1])[:-1])
            b.write_bytes(line(good[2]) + b"bad\n")
            one = run("leap-rank", str(a))
            self.assertEqual([json.loads(x)["id"] for x in one.stdout.splitlines()], ["g0", "g1"])
            two = run("leap-rank", str(a), "-", "--keep-going", str(b), stdin=line(good[3]))
            self.assertEqual(two.returncode, 1)
            self.assertEqual([json.loads(x)["id"] for x in two.stdout.splitlines()[:-1]], ["g0", "g1", "g3", "g2"])
            self.assertIn(f"leap-rank: {b}: line 2: ", two.stderr.decode())
            self.assertEqual(run("leap-rank", str(a) + ".none").returncode, 3)
            self.assertEqual(run("leap-rank", folder).returncode, 3)

    def test_order_at_any_jobs(self):
        text = b"".join(map(line, groups(3000)))
        want = run("leap-rank", "-j", "1", stdin=text).stdout
        self.assertEqual(want.count(b"\n"), 3000)
        for jobs in ("2", "5"):
            self.assertEqual(run("leap-rank", "-j", jobs, stdin=text).stdout, want)

    def test_values_pass_untouched(self):
        logprobs = "[" + ", ".join(["-0.1250001"] * 40) + "]"
        record = ('{"zeta":1,"id":"é","n":12345678901234567890123,"m":9223372036854775807,"rollouts":[{"note":{"b":[],"a":{}},'
                  '"turns":[{"logprobs":' + logprobs + ',"verdict":{"status":"ok"}}]}],"alpha":"\U0001f600 \\u0000"}')
        out = run("leap-rank", stdin=record.encode() + b"\n").stdout.decode()
        want = record.replace('"verdict":{"status":"ok"}}]', '"verdict":{"status":"ok"},"advantage":0.0}],"reward":0.0')
        self.assertEqual(out, want + "\n")

    def test_resume_after_any_cut(self):
        text = b"".join(map(line, groups(12)))
        for tool, flags in (("leap-rank", []), ("leap-rank", ["--drop-flat"]), ("leap-prune", [])):
            want = run(tool, *flags, stdin=text).stdout
            rng = random.Random(1)
            cuts = [0, 1, len(want) - 1, len(want)] + [rng.randrange(len(want)) for _ in range(25)]
            with tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder, "out.jsonl")
                for cut in cuts:
                    out.write_bytes(want[:cut])
                    done = run(tool, *flags, "--resume", str(out), stdin=text)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), cut)
                    self.assertEqual(out.read_bytes(), want, cut)

    def test_resume_redoes_what_was_passed_on(self):
        good = groups(3)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out.jsonl")
            unprocessed = {"id": "g1", "rollouts": [{"turns": [{"verdict": {"status": "ok"}}]}]}
            out.write_bytes(run("leap-rank", stdin=line(good[0])).stdout + line(unprocessed) + b"{}\n")
            text = b"".join(map(line, good))
            done = run("leap-rank", "--resume", str(out), stdin=text)
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(out.read_bytes(), run("leap-rank", stdin=text).stdout)
            other = run("leap-rank", "--resume", str(out), stdin=b"".join(map(line, good[1:])))
            self.assertEqual(other.returncode, 3)
            self.assertIn(b"not an output of this input", other.stderr)
            shorter = run("leap-rank", "--resume", str(out), stdin=line(good[0]))
            self.assertEqual(shorter.returncode, 3)
            same = run("leap-rank", "--resume", str(out), str(out))
            self.assertEqual(same.returncode, 2)

    def test_killed_and_resumed(self):
        text = b"".join(map(line, groups(4000)))
        with tempfile.TemporaryDirectory() as folder:
            source, out = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
            source.write_bytes(text)
            want = run("leap-rank", stdin=text).stdout
            out.write_bytes(b"")
            kills = 0
            for attempt in range(12):
                child = subprocess.Popen([BIN / "leap-rank", "-j2", "--resume", out, source])
                time.sleep(0.004 * attempt)
                child.kill()
                kills += child.wait() == -signal.SIGKILL
            self.assertGreater(kills, 0)
            self.assertEqual(run("leap-rank", "--resume", str(out), str(source)).returncode, 0)
            self.assertEqual(out.read_bytes(), want)

    def test_full_and_closed_stdout(self):
        text = b"".join(map(line, groups(5)))
        for tool in TOOLS:
            for flags in [["--help"], ["--version"]] + ([[]] if tool in ("leap-prune", "leap-rank") else []):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([BIN / tool, *flags], input=text, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 3, (tool, flags))
                self.assertRegex(done.stderr.decode(), rf"^{tool}: [^\n]+\n$")
                closed = subprocess.run(["bash", "-c", 'exec "$0" "$@" >&-', BIN / tool, *flags], input=text,
                                        capture_output=True)
                self.assertEqual(closed.returncode, 3, (tool, flags))
                self.assertRegex(closed.stderr.decode(), rf"^{tool}: [^\n]+\n$")

    def test_closed_stdin(self):
        done = subprocess.run(["bash", "-c", 'exec "$0" <&-', BIN / "leap-rank"], capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (3, b""))

    def test_broken_pipe_is_silent(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "in.jsonl")
            source.write_bytes(b"".join(map(line, groups(3000))))
            done = subprocess.run(["bash", "-c", '"$0" "$1" | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}',
                                   BIN / "leap-rank", source], capture_output=True)
            self.assertEqual((done.stdout, done.stderr), (b"141\n", b""))

    def test_interrupt_leaves_whole_lines(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            child = subprocess.Popen([BIN / "leap-rank"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            first = groups(2)
            child.stdin.write(b"".join(map(line, first)) + b'{"id":"half')
            child.stdin.flush()
            got = [child.stdout.readline(), child.stdout.readline()]
            child.send_signal(number)
            self.assertEqual(child.wait(timeout=20), status)
            self.assertEqual([json.loads(x)["id"] for x in got], ["g0", "g1"])
            self.assertEqual(child.stdout.read(), b"")
            child.stdin.close()
            child.stdout.close()

    def test_lines_are_written_without_waiting_for_more(self):
        child = subprocess.Popen([BIN / "leap-prune"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for group in groups(3):
            child.stdin.write(line(group))
            child.stdin.flush()
            self.assertEqual(json.loads(child.stdout.readline())["id"], group["id"])
        child.stdin.close()
        self.assertEqual(child.wait(timeout=20), 0)
        child.stdout.close()

    @unittest.skipIf(os.environ.get("LEAP_SANITIZERS"), "sanitizers keep freed memory")
    def test_memory_is_bounded_by_the_lines_in_flight(self):
        small = b"".join(line({"id": f"p{i}", "rollouts": [{"turns": [{"verdict": {"status": "ok"}}]}] * 2}) for i in range(1000))
        child = subprocess.Popen([BIN / "leap-rank", "-j2"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        for _ in range(200):
            child.stdin.write(small)
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{child.pid}/status").read_text())
        child.stdin.close()
        self.assertEqual(child.wait(timeout=60), 0)
        self.assertLess(int(peak[1]), 64 * 1024)  # the input is 20 MB, a DOM of it ten times that

    def test_summary(self):
        many = groups(50)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "s.json")
            text = b"".join(map(line, many)) + b"bad\n"
            self.assertEqual(run("leap-rank", "--keep-going", "--summary", str(path), stdin=text).returncode, 1)
            summary = json.loads(path.read_text())
            self.assertEqual((summary["tool"], summary["records"], summary["failed"], summary["groups"]),
                             ("leap-rank", 51, 1, 50))
            per_group = [[(reference.solve_turn(r) or 99) for r in g["rollouts"] if not reference.is_unscorable(r)]
                         for g in many]
            per_group = [g for g in per_group if g]
            for t, acc in enumerate(summary["acc"], 1):
                want = sum(sum(s <= t for s in g) / len(g) for g in per_group) / len(per_group)
                self.assertAlmostEqual(acc, want, places=9)
            self.assertAlmostEqual(summary["pass"]["1"], summary["acc"][-1], places=9)
            self.assertEqual(os.listdir(folder), ["s.json"])
            self.assertEqual(run("leap-rank", "--summary", folder + "/no/such", stdin=text).returncode, 3)

    def test_progress_only_where_wanted(self):
        text = b"".join(map(line, groups(20)))
        self.assertEqual(run("leap-rank", stdin=text).stderr, b"")
        child = subprocess.Popen([BIN / "leap-rank", "--quiet"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        self.assertEqual(child.communicate(text)[1], b"")

    def test_terminal_stdin_shows_help(self):
        master, slave = os.openpty()
        done = subprocess.run([BIN / "leap-rank"], stdin=slave, capture_output=True, timeout=20)
        os.close(master)
        os.close(slave)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"--gamma", done.stdout)


if __name__ == "__main__":
    unittest.main()
