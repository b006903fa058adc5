# Sets up the first process of a sandbox. Its loop is supervisor.c; this also is what children that hold Python are forks of.
import ctypes
import gc
import os
import sys

WORK_DIR = settings[0]
CONTAINED = settings[1] == "1"  # a pid namespace of our own, of which we are the first process
SHARED = settings[2]  # names of sealed files, open as 7, 8, .., for programs of the system, with "|" between them
FILTER = settings_filter  # BPF program for children, or b""
CONTROL, LIBRARY = 4, 5
RECEIVE, SEND = 3, 4  # a child's pipes from and to the supervisor

libc = ctypes.CDLL(None, use_errno=True)
library = ctypes.PyDLL("/proc/self/fd/%d" % LIBRARY)
os.closerange(3, 4)
os.closerange(LIBRARY, LIBRARY + 1)
del os.environ["LD_BIND_NOW"]  # was for this process: children are spared what would be looked up in each
kinds = {}  # kind of child -> function(arguments, nonce, kept blobs by name), which does not return


def run_child(kind, argv, nonce, kept):
    kinds[kind](argv.decode().split("\0"), nonce, kept)


def fill_pools():
    """Fills what the allocator of small objects has begun: those of a child then lie together, on few pages."""
    pool, first = 16384, 48
    blocks = []
    for size in range(16, 513, 16):
        for _ in range(5000):
            block = bytes(size - 33) if size > 32 else object() if size == 16 else len(blocks) + 1000
            blocks.append(block)
            if id(block) % pool == first:
                blocks.pop()
                break
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(blocks))  # they stay, and no name leads to them


def main():
    libc.prctl(4, 0, 0, 0, 0)  # not dumpable: children cannot look into it
    if not CONTAINED:
        libc.prctl(36, 1, 0, 0, 0)  # orphans of children become ours
    os.chdir(WORK_DIR)
    set_up, serve = library.leap_set_up, library.leap_serve
    set_up.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_bool, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p
    serve.argtypes = (ctypes.py_object,)
    set_up(CONTROL, WORK_DIR.encode(), CONTAINED, FILTER, len(FILTER), SHARED.encode())
    gc.collect()
    fill_pools()
    gc.freeze()
    serve(run_child)
