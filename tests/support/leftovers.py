"""What a tool under test leaves behind: processes, files, shared memory. The test becomes the parent of every orphan of
what it starts, so that none is missed and none of another test is seen."""
import ctypes
import os
import pathlib
import re
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36


def leftovers():
    """Processes of sandboxes that no living tool owns, and files in the temporary directory."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                parent = int(re.search(r"PPid:\s+(\d+)", (entry / "status").read_text())[1])
            except (OSError, TypeError):
                continue
            if b"<supervisor>" in words and parent == 1:
                found.append(words)
    return found + [p for p in pathlib.Path(tempfile.gettempdir()).glob("leap-??????")]


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


class Watch:
    """From its making on. Run tools with `environment`: their temporary directory is one of their own."""

    def __init__(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.folder = tempfile.mkdtemp(prefix="leap-watch-")
        os.chmod(self.folder, 0o1777)
        self.environment = {**os.environ, "TMPDIR": self.folder}
        self.children = set(self._children())
        self.memory = self._memory()

    @staticmethod
    def _children():
        found = []
        for task in pathlib.Path("/proc/self/task").iterdir():
            found += (task / "children").read_text().split()
        return found

    @staticmethod
    def _memory():
        """POSIX shared memory and semaphores, System V's of all kinds; by name and key."""
        found = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
        for kind in ("shm", "sem", "msg"):
            path = pathlib.Path("/proc/sysvipc", kind)
            lines = path.read_text().splitlines()[1:] if path.exists() else []
            found |= {f"{kind} {line.split()[0]} {line.split()[1]}" for line in lines}
        return found

    def _left(self):
        left = []
        for pid in set(self._children()) - self.children:
            try:
                if os.waitpid(int(pid), os.WNOHANG)[0]:
                    continue  # an orphan that had ended: nobody else's to reap
                command = pathlib.Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ")[:100].decode("utf-8", "replace")
            except (ChildProcessError, FileNotFoundError):
                continue
            left.append(f"process {pid}: {command}")
        left += [f"file {path}" for path in sorted(pathlib.Path(self.folder).rglob("*"))]
        return left + sorted(self._memory() - self.memory)

    def left(self, patience_s=5):
        """All that is there when the tool has ended; what is about to go may go."""
        end = time.monotonic() + patience_s
        while (left := self._left()) and time.monotonic() < end:
            time.sleep(0.05)
        return left

    def close(self):
        os.rmdir(self.folder)
