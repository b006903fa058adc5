# Sets up the first process of a sandbox. Its loop is supervisor.c; this also is what children that hold Python are forks of.
import ctypes
import gc
import os
import sys

WORK_DIR = settings[0]
CONTAINED = settings[1] == "1"  # a pid namespace of our own, of which we are the first process
CONFINED = settings[1] == "2"  # no namespaces, but Landlock: fd 6 holds rules for children, the last one ours
SHARED = settings[2]  # names of sealed files, open as 7, 8, .., for programs of the system, with "|" between them
TMP_KB, USER, OWN_USER, OWN_PID = settings[3] << 10, *settings[4:7]
FILTER, OWN_FILTER = settings_filters  # BPF programs for children and for ourselves
CONTROL, LIBRARY = 4, 5
RECEIVE, SEND = 3, 4  # a child's pipes from and to the supervisor

libc = ctypes.CDLL(None, use_errno=True)
library = ctypes.PyDLL("/proc/self/fd/%d" % LIBRARY)
os.closerange(LIBRARY, LIBRARY + 1)
for name in ("LD_BIND_NOW", "LD_PRELOAD"):  # were for this process: children are spared what would be looked up in each
    os.environ.pop(name, None)
last_steps = []  # called before there are children; what they make, the collector of a child will find
kinds = {}  # kind of child -> function(arguments, nonce, kept blobs by name), which returns only for a sealed child
readers = {}  # name of a blob -> function: what it makes of the blob is kept for children; the blob itself where it fails


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
    if CONFINED:
        confine = library.leap_confine
        confine.argtypes = (ctypes.c_char_p, ctypes.c_uint, ctypes.c_bool, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_long,
                            ctypes.c_int)
        confine.restype = ctypes.c_char_p
        trouble = confine(WORK_DIR.encode(), USER, OWN_USER, OWN_FILTER, len(OWN_FILTER), TMP_KB,
                          7 + len(SHARED.split("|")) if SHARED else 7)
        if trouble:
            sys.exit(trouble.decode())
    libc.prctl(4, 0, 0, 0, 0)  # not dumpable: children cannot look into it
    if not CONTAINED:
        libc.prctl(36, 1, 0, 0, 0)  # orphans of children become ours
    os.chdir(WORK_DIR)
    library.leap_filter_all.argtypes = ctypes.c_char_p, ctypes.c_size_t
    library.leap_filter_all.restype = ctypes.c_bool
    set_up, serve = library.leap_set_up, library.leap_serve
    set_up.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_bool, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_char_p
    serve.argtypes = ctypes.py_object, ctypes.py_object
    set_up(CONTROL, WORK_DIR.encode(), CONTAINED, FILTER, len(FILTER), OWN_PID, SHARED.encode())
    gc.collect()
    fill_pools()
    gc.freeze()
    for step in last_steps:
        step()
    if CONTAINED and OWN_FILTER and not library.leap_filter_all(OWN_FILTER, len(OWN_FILTER)):
        sys.exit("cannot load a filter of system calls")
    serve(kinds, readers)
