"""Every hazard decomposition in every mode against brute force: `python3 prog.py`, a process for each program and test."""
import concurrent.futures
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

from decomp_hazards import HAZARDS, HOSTILE

BIN = sys.argv[1]
CPU_S, WALL_S, MEMORY_MB, OUTPUT_KB = 1, 15, 512, 1024
LIMITS = {"cpu_s": CPU_S, "wall_s": WALL_S, "memory_mb": MEMORY_MB, "output_kb": OUTPUT_KB}

# Calls the entry point as the rules say; its result crosses as JSON of plain data.
CALLER = r"""
import json, sys, os
text, name, args, out = open(sys.argv[1], "rb").read(), sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
sys.argv = ["prog.py"]
space = sys.modules["__main__"].__dict__
for key in [k for k in space if not k.startswith("__")]:
    if key not in ("text", "name", "args", "out", "space"):
        del space[key]
exec(compile(text, "prog.py", "exec"), space)
def plain(v):
    if v is None or type(v) in (bool, int, float, str):
        return v
    if type(v) in (list, tuple):
        return [plain(x) for x in v]
    if type(v) is dict:
        return {str(k): plain(x) for k, x in v.items()}
    raise TypeError
entry = space[name] if callable(space.get(name)) else getattr(space["Solution"](), name)
value = entry(*args)
import json as j, os as o
o.write(out, j.dumps(plain(value)).encode())
o._exit(0)
"""


def program(hazard, choice):
    parts = [hazard.get("preamble", "")] if hazard.get("preamble") else []
    parts += [group[j] for group, j in zip(hazard["functions"].values(), choice)]
    return "\n".join(parts + ([hazard["main"]] if hazard["main"] else []))


def run(text, hazard, given):
    """(letter or None where the output decides, output)."""
    try:
        compile(text.encode("utf-8", "surrogatepass"), "prog.py", "exec", dont_inherit=True)
    except SyntaxError:
        return "C", None
    except ValueError:
        return "C", None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prog.py")
        with open(path, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        entry = hazard.get("entry")
        result_read, result_write = os.pipe()
        command = ["/usr/bin/python3", path]
        if entry:
            command = ["/usr/bin/python3", "-c", CALLER, path, entry, json.dumps(given), str(result_write)]

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S + 1, CPU_S + 2))
            resource.setrlimit(resource.RLIMIT_AS, ((MEMORY_MB + 30) << 20,) * 2)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with open(os.path.join(folder, "in"), "w+b") as inp, open(os.path.join(folder, "out"), "w+b") as out, open(
                os.path.join(folder, "err"), "w+b") as err:
            inp.write(b"" if entry else given.encode())
            inp.flush()
            inp.seek(0)
            child = subprocess.Popen(command, stdin=open(inp.name, "rb"), stdout=out, stderr=err, cwd=folder, preexec_fn=limit, pass_fds=[result_write],
                                     env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"})
            os.close(result_write)
            import threading
            timer = threading.Timer(WALL_S * 4, child.kill)
            timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            cpu_s = usage.ru_utime + usage.ru_stime
            out.seek(0)
            got = out.read()
            err.seek(0)
            errors = err.read()
        value = os.read(result_read, 1 << 16)
        os.close(result_read)
    if len(got) > OUTPUT_KB << 10:
        return "O", None
    if cpu_s > CPU_S:
        return "T", None
    if b"\nMemoryError" in errors:
        return "M", None
    if child.returncode != 0 or entry and not value:
        return "E", None
    return None, value if entry else got


def same(hazard, got, want):
    if hazard.get("entry"):
        a, b = json.loads(got), json.loads(want)
        return a == b and json.dumps(a) == json.dumps(b) or a == b and not isinstance(a, bool) and not isinstance(b, bool)
    if hazard.get("compare") == "exact":
        return got == want
    try:
        got.decode()
    except UnicodeDecodeError:
        return False
    return got.split() == want.split()


def brute(hazard):
    sizes = [len(group) for group in hazard["functions"].values()]
    truth, wants = {}, []
    for given in hazard["inputs"]:
        first = run(program(hazard, [0] * len(sizes)), hazard, given)
        wants.append(first[1] if first[0] is None else (b"null" if hazard.get("entry") else b"nothing"))
    for choice in itertools.product(*map(range, sizes)):
        text = program(hazard, choice)
        letters = ""
        for given, want in zip(hazard["inputs"], wants):
            letter, got = run(text, hazard, given)
            letters += letter or ("P" if same(hazard, got, want) else "W")
        truth[choice] = letters
    return truth, wants


def record(hazard, wants):
    if hazard.get("entry"):
        check = {"type": "call", "cases": [{"args": given, "expect": json.loads(want)} for given, want in zip(hazard["inputs"], wants)]}
    else:
        check = {"type": "stdio", "compare": hazard.get("compare", "tokens"),
                 "cases": [{"stdin": given, "stdout": want.decode("utf-8", "replace")} for given, want in zip(hazard["inputs"], wants)]}
    task = {"language": "python", "check": check, "limits": LIMITS}
    if hazard.get("entry"):
        task["entry_point"] = hazard["entry"]
    functions = [{"name": name, "signature": "", "doc": "", "implementations": [{"code": code} for code in group]}
                 for name, group in hazard["functions"].items()]
    decomposition = {"functions": functions, "main": hazard["main"]}
    if hazard.get("preamble"):
        decomposition["preamble"] = hazard["preamble"]
    return {"id": hazard["name"], "prompt": "", "task": task, "decompositions": [decomposition]}


def recombine(records, *flags):
    out = subprocess.run([os.path.join(BIN, "decomp-recombine"), "--boxes", "all", *flags], input="".join(json.dumps(r) + "\n" for r in records),
                         capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return [json.loads(line)["decompositions"][0]["recombination"] for line in out.stdout.splitlines()]


def outcomes(hazard, recombination):
    """Of every program; boxes must be disjoint, complete and in order."""
    sizes = [len(group) for group in hazard["functions"].values()]
    found, last = {}, []
    for box in recombination["boxes"]:
        assert box["choice"] > last, "boxes are not in order"
        last = box["choice"]
        programs = list(itertools.product(*[range(k) if j < 0 else [j] for j, k in zip(box["choice"], sizes)]))
        assert len(programs) == box["programs"]
        for choice in programs:
            assert choice not in found, "boxes overlap"
            found[choice] = box["outcomes"] if "outcomes" in box else (box["passed"], box["status"])
    assert len(found) == math.prod(sizes), "programs are missing"
    return found


def attacked():
    """How many programs without a hostile implementation fail beside one."""
    bad = 0
    lines = []
    for i, code in enumerate(HOSTILE):
        made = dict(name="hostile %d" % i, functions={"f": ["def f():\n    return 1", code, "def f():\n    return 2 - 1"], "g": ["def g(x):\n    return int(x) + 1"] * 2},
                    main="print(g(f()))", inputs=["", "x"])
        lines.append(record(made, [b"2", b"2"]))
    for mode, sandbox in (("auto", "auto"), ("tree", "auto"), ("run", "auto"), ("auto", "landlock"), ("run", "landlock")):
        for line, got in zip(lines, recombine(lines, "--outcomes", "--mode", mode, "--sandbox", sandbox, "-j2")):
            for box in got["boxes"]:
                if box["choice"][0] != 1 and box["outcomes"] != "PP":
                    bad += 1
                    print("%s, %s beside %s: %s" % (mode, sandbox, line["id"], box))
    return bad


STATUS = {"P": "ok", "W": "wrong_answer", "E": "crash", "C": "compile_error", "T": "timeout", "M": "out_of_memory", "O": "output_limit"}


def main():
    names = sys.argv[2:]
    hazards = [h for h in HAZARDS if not names or any(name in h["name"] for name in names)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        known = list(pool.map(brute, hazards))
    records = [record(hazard, wants) for hazard, (_, wants) in zip(hazards, known)]
    bad = 0 if names else attacked()
    used = {}
    some = slice(0, None, 1 if names else 3)
    without = ["--outcomes", "--sandbox", "landlock", "-j2"]
    for flags in (without, ["--outcomes", "--mode", "auto", "-j1"], ["--outcomes", "--mode", "run", "-j2"], ["--outcomes", "--mode", "tree", "-j2"], ["--mode", "auto", "-j2"]):
        part = some if flags is without else slice(None)
        for hazard, (truth, _), got in zip(hazards[part], known[part], recombine(records[part], *flags)):
            used.setdefault(" ".join(flags[:-1]), []).append(got["mode"])
            loose = str.maketrans("WE", "XX") if hazard.get("entry") else {}
            for choice, letters in outcomes(hazard, got).items():
                want = truth[choice]
                if "--outcomes" in flags:
                    right = letters.translate(loose) == want.translate(loose)
                else:
                    first = next((letter for letter in want if letter != "P"), "P")
                    right = letters[1] == STATUS[first] or hazard.get("entry") and first in "WE" and letters[1] in ("wrong_answer", "crash")
                if not right:
                    bad += 1
                    print("%s, %s (%s): program %s gives %s, brute force %s" % (" ".join(flags), hazard["name"], got["mode"], list(choice), letters, want))
    for flags, modes in used.items():
        print(flags, {mode: modes.count(mode) for mode in sorted(set(modes))})
    print("%d hazards, %d programs, %d differences" % (len(hazards), sum(len(truth) for truth, _ in known), bad))
    sys.exit(1 if bad else 0)


main()
