"""Decompositions made at random: every mode, one or two jobs, gives what running each program by itself gives."""
import json
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from sandbox_here import flags_here  # noqa: E402

BIN = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 12
NAMES = ["f", "g", "h", "k"]


def expression(rng, names, depth=0):
    """Some value made of `names` (variables), of any type that fits."""
    choice = rng.randrange(9)
    if depth > 2 or choice < 2:
        return rng.choice(names + ["1", "3", "'ab'", "[2, 1]", "(1, 'x')", "{}", "2.0", "True", "None"])
    a, b = expression(rng, names, depth + 1), expression(rng, names, depth + 1)
    return rng.choice(["[%s, %s]", "(%s, %s)", "str(%s) + str(%s)", "{'a': %s, 'b': %s}", "[%s] * 2 + [%s]", "(%s if %s else 0)", "(%s == %s)"]) % (a, b)


def body(rng, callees):
    """Statements of a function of x."""
    lines, names = [], ["x"]
    for _ in range(rng.randrange(1, 5)):
        kind = rng.randrange(12)
        target = "v%d" % len(names)
        if kind < 3:
            lines.append("%s = %s" % (target, expression(rng, names)))
            names.append(target)
        elif kind < 6 and callees:
            lines.append("%s = %s(%s)" % (target, rng.choice(callees), expression(rng, names)))
            names.append(target)
        elif kind == 6:
            lines.append("print(%s)" % expression(rng, names))
        elif kind == 7:
            lines.append("if isinstance(%s, list):\n        %s.append(%s)" % ((rng.choice(names),) * 2 + (rng.choice(["1", "len(str(x))"]),)))
        elif kind == 8:
            lines.append("try:\n        %s = input()\n    except EOFError:\n        %s = 'end'" % (target, target))
            names.append(target)
        elif kind == 9 and callees:
            lines.append("try:\n        %s = %s(%s)\n    except (ValueError, TypeError) as e:\n        %s = e.args" % (
                target, rng.choice(callees), expression(rng, names), target))
            names.append(target)
        elif kind == 10:
            lines.append("if str(%s) > 'C':\n        raise ValueError(%s)" % (rng.choice(names), rng.choice(names)))
        else:
            lines.append("for i in range(3):\n        %s = %s" % (target, expression(rng, names + ["i"])))
            names.append(target)
    lines.append("return " + rng.choice(names))
    return "\n".join("    " + line for line in lines)


def decomposition(rng):
    count = rng.randrange(2, 5)
    names = NAMES[:count]
    functions = []
    for i, name in enumerate(names):
        callees = names[i + 1:] + ([name] if rng.random() < 0.02 else [])
        group = []
        for _ in range(rng.randrange(2, 4)):
            extra = rng.choice(["", "", "", "", "import math\n", "M = 3\n", "import re\nT = [1, 2]\n", "STATE = []\n"])
            group.append(extra + "def %s(x):\n%s" % (name, body(rng, callees)))
            if extra.startswith("STATE") and rng.random() < 0.5:
                group[-1] = group[-1].replace("    return", "    STATE.append(1)\n    print(len(STATE))\n    return")
        functions.append({"name": name, "signature": "", "doc": "", "implementations": [{"code": code} for code in group]})
    main = "a = [1, 2]\n" + "\n".join("print(%s(%s))" % (rng.choice(names[:2]), rng.choice(["a", "5", "input()", "'q'", "a + [3]"])) for _ in range(rng.randrange(1, 4))) + "\nprint(a)"
    return {"functions": functions, "main": main}


def first_output(made, stdin):
    text = "\n".join([f["implementations"][0]["code"] for f in made["functions"]] + [made["main"]])
    done = subprocess.run(["/usr/bin/python3", "-c", text], input=stdin, capture_output=True, text=True, env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"})
    return done.stdout


def recombine(lines, *flags):
    done = subprocess.run([os.path.join(BIN, "decomp-recombine"), "--outcomes", *flags], input="".join(lines), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["decompositions"][0]["recombination"] for line in done.stdout.splitlines()]


def main():
    lines = []
    for seed in range(ROUNDS):
        rng = random.Random(seed)
        made = decomposition(rng)
        cases = [{"stdin": stdin, "stdout": first_output(made, stdin)} for stdin in ("one\ntwo\n", "")]
        task = {"language": "python", "check": {"type": "stdio", "cases": cases}, "limits": {"cpu_s": 1, "wall_s": 20, "memory_mb": 512}}
        lines.append(json.dumps({"id": str(seed), "prompt": "", "task": task, "decompositions": [made]}) + "\n")
    want = recombine(lines, "--mode", "run", "-j2")
    bad, used = 0, {}
    for flags in (["--mode", "trie", "-j1"], ["--mode", "trie", "-j2"], ["--mode", "tree", "-j2"]):
        for seed, (a, b) in enumerate(zip(want, recombine(lines, *flags))):
            used[b["mode"]] = used.get(b["mode"], 0) + 1
            if a["boxes"] != b["boxes"] or a["solved"] != b["solved"]:
                bad += 1
                print("seed %d, %s (%s): %s, by itself %s" % (seed, flags[1], b["mode"], b["boxes"], a["boxes"]))
    print("%d decompositions, %d programs, modes %s, %d differences" % (len(lines), sum(a["programs"] for a in want), used, bad))
    wanted = ["trie"] if flags_here(os.path.join(BIN, "leap-verify")) else ["trie", "tree"]  # a tree needs namespaces
    sys.exit(1 if bad or not all(map(used.get, wanted)) else 0)


main()
