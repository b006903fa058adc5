#!/usr/bin/env python3
"""leap-verify when things break: a sandbox killed, the tool killed and resumed, a full disk, no compiler, no bubblewrap, no
sandbox at all. Nothing is left behind."""
import ctypes
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from leftovers import descendants  # noqa: E402
from sandbox_here import flags_here  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
TOOL = BIN / "leap-verify"
needs_bubblewrap = unittest.skipIf(flags_here(TOOL), "bubblewrap does not work here")


def can_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


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


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def without_landlock():
    """For this process and what it starts, landlock_create_ruleset is a call that the kernel does not know."""
    code = b"".join(struct.pack("=HBBI", *line) for line in (
        (0x20, 0, 0, 0),  # number of the call
        (0x15, 0, 1, 444),
        (0x06, 0, 0, 0x00050000 | 38),  # ENOSYS
        (0x06, 0, 0, 0x7FFF0000)))  # allowed
    libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        os._exit(99)


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

    @unittest.skipUnless(can_mount(), "a small disk cannot be mounted here")
    def test_disk_that_fills_up(self):
        text = records(6, 0)
        undisturbed = plain(subprocess.run([TOOL], input=text, capture_output=True, check=True).stdout)
        with tempfile.TemporaryDirectory() as folder:
            on_small_disk = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=%s none "$0" && shift && exec "$@"']
            # Room for directories only: nothing is kept in the cache, and every verdict is as without it.
            script = list(on_small_disk)
            script[-1] = script[-1].replace("%s", "64k").replace("&& shift", "&& { head -c 1M /dev/zero > $0/fill 2> /dev/null; :; }")
            done = subprocess.run([*script, folder, TOOL, "--cache", folder], input=text, capture_output=True, timeout=120)
            self.assertRegex(done.stderr.decode(), r"^leap-verify: --cache [^\n]*No space left[^\n]*\n$")
            self.assertEqual((done.returncode, plain(done.stdout)), (0, undisturbed))
            # Resuming into a full file stops, with what is whole.
            script = list(on_small_disk)
            script[-1] = script[-1].replace("%s", "4k").replace("&& shift && exec", "&&") + '; status=$?; cat "$0/out"; exit $status'
            done = subprocess.run([*script, folder, TOOL, "-j1", "--resume", f"{folder}/out"], input=records(30, 0),
                                  capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr.decode(), r"^leap-verify: [^\n]*No space left[^\n]*\n$")
            whole = done.stdout.rpartition(b"\n")[0]
            self.assertEqual(plain(whole)[:6], undisturbed[: len(plain(whole))])

    def with_bwrap(self, folder, script):
        """Environment in which bwrap is this shell script."""
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder, "bwrap")
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return {"PATH": f"{folder}:/usr/bin:/bin"}

    def kill_harness(self, env):
        """The verdict of a program whose sandbox is killed whenever it runs."""
        task = {"language": "cpp", "check": {"type": "stdio", "cases": [{"stdin": "", "stdout": "1"}]}}
        line = {"id": "x", "task": task, "rollouts": [{"turns": [{"code": "#include <unistd.h>\nint main() { pause(); }"}]}]}
        process = subprocess.Popen([TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        process.stdin.write(json.dumps(line).encode())
        process.stdin.close()
        process.stdin = None
        killed = 0
        while process.poll() is None and killed < 20:
            for pid in descendants(process.pid):
                try:
                    if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() == b"./solution\0":
                        harness = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                        if b"<supervisor>" in pathlib.Path(f"/proc/{harness}/cmdline").read_bytes():
                            os.kill(harness, signal.SIGKILL)
                            killed += 1
                except (FileNotFoundError, ProcessLookupError):
                    pass
            time.sleep(0.01)
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err), (0, b""))
        self.assertGreaterEqual(killed, 2)
        return json.loads(out)["rollouts"][0]["turns"][0]["verdict"]

    def test_killed_harness_and_canary(self):
        # A program that kills its harness does not escape: what is known to be good runs.
        verdict = self.kill_harness(None)
        self.assertEqual((verdict["status"], verdict["flags"]), ("crash", [*flags_here(TOOL), "harness"]))

    @needs_bubblewrap
    def test_killed_harness_and_no_canary(self):
        # The same where what is known to be good does not run: the python3 that children would start refuses.
        with tempfile.TemporaryDirectory() as folder:
            python = os.path.realpath("/usr/bin/python3")
            fake = pathlib.Path(folder, "python3")
            fake.write_text('#!/bin/sh\n[ "$1" = -I ] && exit 1\nexec /real "$@"\n')
            fake.chmod(0o755)
            env = self.with_bwrap(folder, f"""for a; do
  shift
  [ "$a" = --proc ] && set -- "$@" --ro-bind {python} /real --ro-bind {fake} {python}
  set -- "$@" "$a"
done
exec /usr/bin/bwrap "$@"
""")
            verdict = self.kill_harness(env)
            self.assertEqual((verdict["status"], verdict["flags"]), ("harness_error", []))

    @needs_bubblewrap
    def test_no_compiler_is_no_verdict(self):
        task = {"language": "cpp", "check": {"type": "stdio", "cases": [{"stdin": "", "stdout": "1"}]}}
        line = {"id": "x", "task": task, "rollouts": [{"turns": [{"code": "int main() {}"}]}]}
        with tempfile.TemporaryDirectory() as folder:
            compiler = os.path.realpath("/usr/bin/g++")
            env = self.with_bwrap(folder, f"""for a; do
  shift
  [ "$a" = --proc ] && set -- "$@" --ro-bind /bin/false {compiler}
  set -- "$@" "$a"
done
exec /usr/bin/bwrap "$@"
""")
            done = subprocess.run([TOOL], input=json.dumps(line).encode(), capture_output=True, timeout=120, env=env)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertRegex(done.stderr.decode(), r"^leap-verify: [^\n]*g\+\+ does not work[^\n]*\n$")

    def test_no_bubblewrap(self):
        with tempfile.TemporaryDirectory() as folder:
            env = self.with_bwrap(folder, "echo Operation not permitted >&2; exit 1\n")
            done = subprocess.run([TOOL], input=records(1, 0), capture_output=True, timeout=120, env=env)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            verdict = plain(done.stdout)[0]["rollouts"][0]["turns"][0]["verdict"]
            self.assertEqual((verdict["status"], verdict["flags"]), ("ok", ["landlock"]))
            said = subprocess.run([TOOL, "--check-sandbox"], capture_output=True, timeout=120, env=env)
            self.assertEqual(said.returncode, 0)
            self.assertRegex(said.stdout.decode(), r"--sandbox bwrap: +no: .*Operation not permitted.*\n--sandbox landlock: +works: .*\nauto takes: +landlock")
            self.assertRegex(said.stdout.decode(), r"CUDA kernels: .*ld\.gold.*; .*clang\+\+")
            done = subprocess.run([TOOL, "--sandbox", "bwrap"], input=records(1, 0), capture_output=True, timeout=120, env=env)
            self.assertEqual((done.returncode, done.stdout), (3, b""))

    def test_no_sandbox_is_no_verdict(self):
        with tempfile.TemporaryDirectory() as folder:
            env = self.with_bwrap(folder, "exit 1\n")
            done = subprocess.run([TOOL], input=records(1, 0), capture_output=True, timeout=120, env=env, preexec_fn=without_landlock)
            self.assertEqual((done.returncode, done.stdout), (3, b""))
            self.assertRegex(done.stderr.decode(), r"^leap-verify: no sandbox: [^\n]*--sandbox none[^\n]*\n$")
            said = subprocess.run([TOOL, "--check-sandbox"], capture_output=True, timeout=120, env=env, preexec_fn=without_landlock)
            self.assertEqual(said.returncode, 3)
            self.assertRegex(said.stdout.decode(), r"Landlock: +no\n[^@]*auto takes: +nothing")


if __name__ == "__main__":
    unittest.main(argv=["verify_faults_test", *sys.argv[1:]])
