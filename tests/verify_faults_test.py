#!/usr/bin/env python3
"""leap-verify when things break: a sandbox killed, the tool killed and resumed, a full disk. Nothing is left behind."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TOOL = BIN / "leap-verify"


def records(count, pause=0.05):
    code = "import time\ntime.sleep(%g)\nprint(sum(map(int, input().split())))" % pause
    task = {"check": {"type": "stdio", "cases": [{"stdin": f"{i} 1\n", "stdout": f"{i + 1}\n"} for i in range(4)]}}
    return "".join(json.dumps({"id": f"r{k}", "task": task, "rollouts": [{"turns": [{"code": f"# {k}\n{code}"}]}]}) + "\n"
                   for k in range(count)).encode()


def plain(text):
    """Records without what was measured."""
    out = []
    for line in text.splitlines():
        record = json.loads(line)
        for rollout in record["rollouts"]:
            for turn in rollout["turns"]:
                turn["verdict"].pop("measured", None)
        out.append(record)
    return out


def descendants(pid):
    """Processes below `pid`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(int(entry.name))
            except OSError:
                pass
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


class Faults(unittest.TestCase):
    def start(self, stdin, *flags, stdout=subprocess.PIPE):
        process = subprocess.Popen([TOOL, "-j2", *flags], stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE)
        process.stdin.write(stdin)
        process.stdin.close()
        process.stdin = None
        return process

    def test_killed_sandboxes_change_nothing(self):
        text = records(12)
        undisturbed = plain(subprocess.run([TOOL, "-j2"], input=text, capture_output=True, check=True).stdout)
        process = self.start(text)
        self.assertTrue(wait_for(lambda: descendants(process.pid)))
        time.sleep(0.3)
        killed = descendants(process.pid)
        for pid in killed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err), (0, b""))
        self.assertTrue(killed)
        self.assertEqual(plain(out), undisturbed)

    def test_killed_tool_leaves_nothing_and_resumes(self):
        text = records(10)
        undisturbed = plain(subprocess.run([TOOL, "-j2"], input=text, capture_output=True, check=True).stdout)
        before = set(os.listdir(tempfile.gettempdir()))
        with tempfile.TemporaryDirectory(dir=".") as folder:
            out = pathlib.Path(folder, "out.jsonl")
            with out.open("wb") as file:
                process = self.start(text, stdout=file)
                self.assertTrue(wait_for(lambda: out.stat().st_size > 0))
                below = descendants(process.pid)
                process.kill()
                process.communicate()
            self.assertTrue(below)
            self.assertTrue(wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in below), 20))
            self.assertLess(len(out.read_bytes().splitlines()), 10)
            done = subprocess.run([TOOL, "-j2", "--resume", out], input=text, capture_output=True, timeout=120)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
            self.assertEqual(plain(out.read_bytes()), undisturbed)
        left = {name for name in set(os.listdir(tempfile.gettempdir())) - before if name.startswith("leap-")}
        self.assertEqual({name for name in left if len(name) == len("leap-XXXXXX")}, set())

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL], input=records(2, 0), stdout=full, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr.decode(), r"^leap-verify: [^\n]*No space left[^\n]*\n$")

    def test_no_sandbox_is_no_verdict(self):
        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run([TOOL], input=records(1, 0), capture_output=True, timeout=120, env={"PATH": empty})
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn(b"no sandbox", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["verify_faults_test"])
