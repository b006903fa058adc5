# The first process of a sandbox. It runs one child per request of the parent, keeps the child's limits, relays
# messages between the two and says how the child ended. Nothing secret is ever here: children are forks of it.
#
# Frames on the control socket (both ways), and on the pipes to and from a child: a 4-byte length, then fields of a 4-byte
# length and bytes each. Whatever a child sends must start with the nonce that it was given, or it counts as forged.
import _signal
import ctypes
import fcntl
import gc
import os
import resource
import select
import sys
import time

CONTROL = int(settings[0])
WORK_DIR = settings[1]
CONTAINED = settings[2] == "1"  # a pid namespace of our own, of which we are the first process
FILTER = settings_filter  # BPF program for children, or b""
MAX_MESSAGE = 64 << 20
MAX_FILE = 250 << 20
SHARED = settings[3] if CONTAINED else ""  # name of a sealed file, open as fd 6, for programs of the system; or ""
CHILD_ENV = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "HOME": WORK_DIR, "TMPDIR": WORK_DIR}

libc = ctypes.CDLL(None, use_errno=True)
kept = {}
kinds = {}  # kind of child -> function(request, nonce, receive_fd, send_fd), which never returns


def pack(fields):
    body = b"".join(len(field).to_bytes(4, "little") + field for field in fields)
    return len(body).to_bytes(4, "little") + body


def unpack(body):
    fields = []
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "little")
        if at + 4 + size > len(body):
            raise ValueError("a field longer than its frame")
        fields.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return fields


def read_exactly(fd, size):
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_frame(fd):
    head = read_exactly(fd, 4)
    if head is None:
        return None
    body = read_exactly(fd, int.from_bytes(head, "little"))
    return None if body is None else unpack(body)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def leave():
    """The parent is gone, or nothing can be said to it any more."""
    kill_children(None)
    if not CONTAINED and clean(WORK_DIR):
        os.rmdir(WORK_DIR)
    os._exit(0)


def answer(*fields):
    try:
        write_all(CONTROL, pack(fields))
    except OSError:
        leave()


def kill_children(pid):
    """Ends every process of the sandbox but this one; the resources that those used that were not yet counted."""
    cpu_s, rss_kb = 0.0, 0
    while True:
        if CONTAINED:
            try:
                os.kill(-1, 9)
            except OSError:
                pass
        else:
            try:
                if pid:
                    os.killpg(pid, 9)
            except OSError:
                pass
            try:
                with open("/proc/self/task/%d/children" % os.getpid()) as file:
                    for child in file.read().split():
                        os.kill(int(child), 9)
            except OSError:
                pass
        try:
            _, _, usage = os.wait4(-1, 0)
        except OSError:
            return cpu_s, rss_kb
        cpu_s += usage.ru_utime + usage.ru_stime
        rss_kb = max(rss_kb, usage.ru_maxrss)


def others(pid):
    """(CPU seconds, resident kB) of the processes of the sandbox besides this one and `pid`."""
    cpu_s, rss_kb = 0.0, 0
    if not CONTAINED:
        return cpu_s, rss_kb
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1" and int(name) != pid:
            try:
                cpu_s += time.clock_gettime((~int(name) << 3) | 2)
                rss_kb += rss_of(name)
            except OSError:
                pass
    return cpu_s, rss_kb


def rss_of(pid):
    with open("/proc/%s/statm" % pid, "rb") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def new_file(content=b""):
    fd = os.memfd_create("file", os.MFD_CLOEXEC)
    if content:
        write_all(fd, content)
        os.lseek(fd, 0, 0)
    return fd


def lower(what, soft, hard=None):
    top = resource.getrlimit(what)[1]
    hard = soft if hard is None else hard
    if top != resource.RLIM_INFINITY:
        hard = top if hard == resource.RLIM_INFINITY else min(hard, top)
        soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(what, (soft, hard))


class Filter(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def enter(limits, files, receive_fd, send_fd, program_fd, shared):
    """In the child: its files, limits and filter. The pipes to the supervisor become 3 (in) and 4 (out)."""
    os.setsid()
    fds = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (*files, receive_fd, send_fd)]
    program = fcntl.fcntl(program_fd, fcntl.F_DUPFD_CLOEXEC, 64) if program_fd is not None else None
    for number, fd in enumerate(fds):
        os.dup2(fd, number, inheritable=True)
    if program is not None:
        os.dup2(program, 5, inheritable=False)
    if shared:
        os.closerange(5, 6)
        os.set_inheritable(6, True)
        os.closerange(7, 4096)
    else:
        os.closerange(5 if program is None else 6, 4096)
    cpu_s, memory_kb, file_kb, processes = limits
    infinity = resource.RLIM_INFINITY
    lower(resource.RLIMIT_CPU, int(cpu_s) + 2, int(cpu_s) + 3)
    lower(resource.RLIMIT_STACK, infinity, infinity)
    lower(resource.RLIMIT_FSIZE, file_kb << 10)
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_MEMLOCK, 64 << 10)
    lower(resource.RLIMIT_MSGQUEUE, 0)
    lower(resource.RLIMIT_NOFILE, 256)
    lower(resource.RLIMIT_NPROC, processes)
    lower(resource.RLIMIT_AS, memory_kb << 10)
    if FILTER:
        program = Filter(len(FILTER) // 8, FILTER)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
            os._exit(126)


def run_binary(request, nonce, receive_fd, send_fd):
    """A child of another program: the kept blob `payload`, or the file argv[0]. A driver reads the nonce first."""
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    argv = request[4].decode().split("\0")
    try:
        if request[5]:
            if request[1] == b"binary":
                os.closerange(3, 5)
            os.execve(5, argv, CHILD_ENV)
        os.closerange(3, 5)
        os.execve(argv[0], argv, CHILD_ENV)
    finally:
        os._exit(126)


kinds[b"binary"] = run_binary
kinds[b"driver"] = run_binary


class Inbox:
    """Frames out of bytes that come in any pieces from a child that cannot be trusted."""

    def __init__(self, fd, nonce):
        self.fd = fd
        self.nonce = nonce
        self.data = bytearray()
        self.open = True
        self.forged = False

    def pump(self):
        """Reads what is there and forwards whole messages."""
        try:
            part = os.read(self.fd, 1 << 20)
        except BlockingIOError:
            return False
        if not part:
            self.open = False
            return False
        if self.forged:
            return True
        data = self.data
        data += part
        while len(data) >= 4 and not self.forged:
            size = int.from_bytes(data[:4], "little")
            if size > MAX_MESSAGE:
                self.forged = True
            elif len(data) >= 4 + size:
                try:
                    fields = unpack(bytes(data[4 : 4 + size]))
                except ValueError:
                    fields = [b""]
                del data[: 4 + size]
                if not fields or fields[0] != self.nonce:
                    self.forged = True
                else:
                    answer(b"msg", *fields[1:])
            else:
                break
        return True


def start(request):
    """request: op, kind, limits, stdin, argv, payload, nonce is ours; then names and contents of files in turn."""
    kind = request[1]
    numbers = request[2].split()
    cpu_s, wall_s = float(numbers[0]), float(numbers[1])
    memory_kb, output_kb, file_kb, processes = map(int, numbers[2:])
    if not clean(WORK_DIR) or CONTAINED and not clean("/dev/shm"):
        answer(b"ended", b"dirty", b"0 0 0 0 0", b"", b"")
        return
    shared = SHARED and kind == b"binary" and not request[5]
    if shared:
        os.makedirs(os.path.join(WORK_DIR, os.path.dirname(SHARED)))
        os.symlink("/proc/self/fd/6", os.path.join(WORK_DIR, SHARED))
    for name, content in zip(request[6::2], request[7::2]):
        path = os.path.join(WORK_DIR, name.decode())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    inp, out, err = new_file(request[3]), new_file(), new_file()
    down_read, down = os.pipe()
    up, up_write = os.pipe()
    program_fd = None
    native = kind in (b"binary", b"driver")
    if native and request[5]:
        program_fd = new_file(kept[request[5]])
        os.fchmod(program_fd, 0o500)
        reopened = os.open("/proc/self/fd/%d" % program_fd, os.O_RDONLY | os.O_CLOEXEC)
        os.close(program_fd)
        program_fd = reopened
    child_kb = memory_kb + (32 << 10 if native else BASE_KB)
    nonce = os.urandom(16).hex().encode()
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(CONTROL)
            enter((cpu_s, child_kb, file_kb, processes), (inp, out, err), down_read, up_write, program_fd, shared)
            kinds[kind](request, nonce, 3, 4)
        finally:
            os._exit(126)
    for fd in (inp, down_read, up_write):
        os.close(fd)
    if program_fd is not None:
        os.close(program_fd)
    os.set_blocking(up, False)
    os.set_blocking(down, False)
    inbox = Inbox(up, nonce)
    pending = bytearray(pack([nonce])) if kind == b"driver" else bytearray()
    watch = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(watch, select.POLLIN)
    poll.register(up, select.POLLIN)
    poll.register(CONTROL, select.POLLIN)
    clock = (~pid << 3) | 2
    cores = os.cpu_count() or 1
    how, ended, polls = None, False, 0
    peak_kb, checked = 0, begin
    down_open, input_closed = True, False
    while not ended and how is None:
        now = time.monotonic()
        cpu = time.clock_gettime(clock)
        if pending and down_open:
            try:
                del pending[: os.write(down, pending)]
            except BlockingIOError:
                pass
            except OSError:
                pending.clear()
            if pending:
                poll.register(down, select.POLLOUT)
            elif polls:
                try:
                    poll.unregister(down)
                except KeyError:
                    pass
        if input_closed and not pending and down_open:
            os.close(down)
            down_open = False
        left = min(0.05, wall_s - (now - begin), max(0.002, (cpu_s - cpu) / cores))
        events = poll.poll(max(0, left * 1000) + 0.5)
        polls += 1
        for fd, _ in events:
            if fd == watch:
                ended = True
            elif fd == up:
                inbox.pump()
                if not inbox.open:
                    poll.unregister(up)
            elif fd == CONTROL:
                order = read_frame(CONTROL)
                if order is None:
                    leave()
                if order[0] == b"msg":
                    pending += pack(order[1:])
                elif order[0] == b"close":
                    input_closed = True
                elif order[0] == b"stop":
                    how = b"stopped"
        if ended:
            break
        now = time.monotonic()
        if not events or now > checked + 0.05:
            checked = now
            more_cpu, more_kb = others(pid)
            try:
                rss_kb = rss_of(pid)
            except OSError:
                rss_kb = 0
            peak_kb = max(peak_kb, rss_kb + more_kb)
            if time.clock_gettime(clock) + more_cpu > cpu_s:
                how = b"cpu"
            elif now - begin > wall_s:
                how = b"wall"
            elif rss_kb + more_kb > child_kb:
                how = b"memory"
            elif os.fstat(out).st_size > output_kb << 10:
                how = b"output"
    if not ended:
        os.kill(pid, 9)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - begin
    cpu = usage.ru_utime + usage.ru_stime
    more_cpu, more_kb = kill_children(pid)
    while inbox.open and inbox.pump():
        pass
    cpu += more_cpu
    size = os.fstat(out).st_size
    code = os.waitstatus_to_exitcode(status)
    if size > output_kb << 10:
        how = b"output"
    elif how is None and (cpu > cpu_s or code == -_signal.SIGXCPU):
        how = b"cpu"
    elif how is None:
        how = b"signal" if code < 0 else b"exit"
    stdout = os.pread(out, min(size, output_kb << 10), 0) if size else b""
    stderr_size = os.fstat(err).st_size
    stderr = os.pread(err, 65536, 0) if stderr_size else b""
    for fd in (out, err, up, watch):
        os.close(fd)
    if down_open:
        os.close(down)
    figures = "%d %.6f %.6f %d %d" % (
        abs(code), cpu, wall, max(usage.ru_maxrss, more_kb, peak_kb), 1 if inbox.forged or inbox.data else 0)
    answer(b"ended", how, figures.encode(), stdout, stderr)


def clean(path, depth=0):
    """Empties a directory; False where a child left something that resists."""
    try:
        with os.scandir(path) as entries:
            found = list(entries)
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if depth > 50:
                    return False
                os.chmod(entry.path, 0o700)
                if not clean(entry.path, depth + 1):
                    return False
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
        return True
    except OSError:
        return False


def serve():
    while True:
        request = read_frame(CONTROL)
        if request is None:
            leave()
        op = request[0]
        if op == b"start":
            start(request)
        elif op == b"keep":
            kept[request[1]] = request[2]
        elif op == b"fetch":
            try:
                fd = os.open(os.path.join(WORK_DIR, request[1].decode()), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    content = read_exactly(fd, min(os.fstat(fd).st_size, MAX_FILE)) or b""
                finally:
                    os.close(fd)
            except OSError:
                content = b""
            answer(b"file", content)


def main():
    libc.prctl(4, 0, 0, 0, 0)  # not dumpable: children cannot look into it
    if not CONTAINED:
        libc.prctl(36, 1, 0, 0, 0)  # orphans of children become ours
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    os.chdir(WORK_DIR)
    gc.collect()
    gc.freeze()
    answer(b"hello", b"1")
    serve()


with open("/proc/self/statm", "rb") as file:
    BASE_KB = int(file.read().split()[0]) * resource.getpagesize() // 1024
