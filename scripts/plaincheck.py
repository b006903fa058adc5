"""Check trusted code against its problem in plain Python: for known-good solutions and what is made of them.

Nothing here is a sandbox. Code written by a policy is checked by leap-verify alone.
"""

import contextlib
import io
import json
import math
import resource
import subprocess
import sys

WALL_S = 10
CPU_S = 5
MEMORY_BYTES = 1 << 30


def results(record, code, wall_s=WALL_S):
    """One bool a case (a single one for `script`): does `code` pass it? None where the run had no end."""
    task = record["task"]
    job = json.dumps({"check": task["check"], "entry_point": task.get("entry_point"), "code": code})
    try:
        done = subprocess.run([sys.executable, "-I", "-S", __file__], input=job, capture_output=True, text=True,
                              timeout=wall_s)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None


def passes(record, code, wall_s=WALL_S):
    return all(results(record, code, wall_s) or [False])


def plain(value):
    """A result as plain data: tuples become lists; None of the known types is a TypeError."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not plain data")


def equal(got, want, tolerance=1e-6):
    """Equality of plain data: a bool is no number, floats may differ by `tolerance`, relative or absolute."""
    if isinstance(got, bool) or isinstance(want, bool):
        return got is want
    if isinstance(got, (int, float)) and isinstance(want, (int, float)):
        return got == want or math.isclose(got, want, rel_tol=tolerance, abs_tol=tolerance)
    if type(got) is not type(want):
        return False
    if isinstance(got, list):
        return len(got) == len(want) and all(equal(a, b, tolerance) for a, b in zip(got, want))
    if isinstance(got, dict):
        return got.keys() == want.keys() and all(equal(got[key], want[key], tolerance) for key in want)
    return got == want


def output_of(program, stdin):
    """What a compiled program prints."""
    out, real = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            exec(program, {"__name__": "__main__"})
    finally:
        sys.stdin = real
    return out.getvalue()


def attempt(case):
    """The value of `case()`, False for whatever it raises."""
    try:
        return bool(case())
    except Exception:
        return False


def run_cases(check, entry_point, code):
    """All cases of one check, in this process."""
    program = compile(code, "solution", "exec")
    if check["type"] == "stdio":
        return [attempt(lambda: output_of(program, case["stdin"]).split() == case["stdout"].split())
                for case in check["cases"]]
    names = {"__name__": "solution"}
    exec(program, names)
    candidate = names[entry_point]
    if check["type"] == "call":
        tolerance = check.get("tolerance", 1e-6)
        return [attempt(lambda: equal(plain(candidate(*case["args"], **case.get("kwargs", {}))), case["expect"],
                                      tolerance))
                for case in check["cases"]]
    return [attempt(lambda: run_script(check, entry_point, candidate))]


def run_script(check, entry_point, candidate):
    """The assertions of a `script` check; anything that they raise is the caller's."""
    names = {"__name__": "test", entry_point: candidate}
    exec(compile(check["code"], "test", "exec"), names)
    if "call" in check:
        names[check["call"]](candidate)
    return True


def main():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    job = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, io.StringIO()
    try:
        verdicts = run_cases(job["check"], job["entry_point"], job["code"])
    except Exception:
        verdicts = [False] * len(job["check"].get("cases", [None]))
    json.dump(verdicts, answer)


if __name__ == "__main__":
    main()
