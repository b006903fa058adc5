"""How the problems in examples/problems/kernels are read.

A problem is one .cu file that nvcc could compile as it is: a comment, the function `reference` (host C++), the line
`// solution`, and a known-good `solve`. The comment is the statement; its last paragraph declares what the check needs,
a line each:

    in x float32 [rows, cols] normal 0 1          out y float32 [rows, cols]
    scalar alpha float32 uniform 0.5 2            inout state int32 [n]
    sizes rows,cols = 1,1 7,1000 33,31            benchmark 128,1024
    tolerance 1e-4                                (relative and absolute; left out where all outputs are exact)
    wrong out_of_bounds: if (i < n) => if (i <= n)
    wrong race: __syncthreads();  // tile read =>

A `wrong` line is a faulty candidate: the solution with one text put for another, and the statuses (`a|b`) it deserves.
"""

import re
from pathlib import Path

LIMITS = {"cpu_s": 20, "wall_s": 60, "memory_mb": 2048}
C_TYPES = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16", "float64": "double", "int32": "int",
           "int64": "long long", "uint8": "unsigned char", "bool": "bool"}
DTYPES = {c_type: dtype for dtype, c_type in C_TYPES.items()}
ROLES = {"in": "input", "out": "output", "inout": "input and output, changed in place"}
VALUES = {"uniform": 2, "normal": 2, "integers": 2, "constant": 1, "choice": None, "list": None, "permutation": 0}

PROMPT = """{statement}

Write it in CUDA C++. Your code must define this function, which runs on the host and does the work by launching one or \
more kernels:

```cuda
{signature};
```

{arguments}

- The pointers are device pointers, 256-byte aligned, to dense row-major arrays; `solve` may allocate more device memory.
- Outputs hold garbage at the start, and every element must be written. Inputs must not be changed.
- {sizes}
- {tolerance}

Answer with the complete source in one ```cuda block and nothing else."""


class ProblemError(Exception):
    """A problem file that contradicts itself."""


class Problem:
    """One .cu file, read. `wrong` is [(statuses, old, new)]."""

    def __init__(self, file):
        self.file = Path(file)
        self.id = f"{self.file.parent.name}/{self.file.stem}"
        text = self.file.read_text(encoding="utf-8")
        found = re.match(r"/\*\n(.*?)\n\*/\n(.*?)\n// solution\n(.*)", text, re.DOTALL)
        self.demand(found, "is not: comment, reference, `// solution`, solution")
        comment, self.reference, self.solution = found[1], found[2].strip() + "\n", found[3].strip() + "\n"
        self.statement, _, declared = comment.rpartition("\n\n")
        self.demand(self.statement, "has no statement before its declarations")
        self.declare(declared.splitlines())
        self.read_signature()

    def demand(self, holds, what):
        if not holds:
            raise ProblemError(f"{self.id}: {what}")

    def declare(self, lines):
        self.buffers, self.sizes, self.benchmark, self.tolerance, self.wrong = {}, None, None, None, []
        for line in lines:
            key, _, rest = line.strip().partition(" ")
            if key in (*ROLES, "scalar"):
                name, spec = rest.split(" ", 1)
                self.buffers[name] = self.argument(name, key, spec)
            elif key == "sizes":
                names, _, rows = rest.partition(" = ")
                self.size_names = names.split(",")
                self.sizes = [self.binding(row) for row in rows.split()]
            elif key == "benchmark":
                self.benchmark = self.binding(rest)
            elif key == "tolerance":
                self.tolerance = float(rest)
            elif key == "wrong":
                statuses, _, edit = rest.partition(": ")
                old, _, new = edit.partition(" =>")
                new = new.strip()
                self.demand(old in self.solution, f"`{old}` is not in its solution")
                self.wrong.append((statuses.split("|"), old, new))
            else:
                self.demand(False, f"declares `{line}`")
        self.demand(self.sizes and self.benchmark and len(self.wrong) >= 2, "lacks sizes, benchmark or 2 wrong ones")
        exact = all(a["dtype"] in ("int32", "int64", "uint8", "bool") for a in self.buffers.values()
                    if a["role"] in ("out", "inout"))
        self.demand(exact == (self.tolerance is None), "needs a tolerance exactly if an output is not exact")

    def binding(self, row):
        values = [int(value) for value in row.split(",")]
        self.demand(len(values) == len(self.size_names), f"binds {row} to {self.size_names}")
        return dict(zip(self.size_names, values))

    def argument(self, name, role, spec):
        found = re.fullmatch(r"(\w+)(?: \[(.*?)\])?(?: (.*))?", spec)
        self.demand(found and found[1] in C_TYPES, f"declares `{spec}`")
        argument = {"name": name, "dtype": found[1]}
        if role != "scalar":
            extents = [extent.strip() for extent in found[2].split(",")]
            argument["shape"] = [int(extent) if extent.isdigit() else extent for extent in extents]
        argument["role"] = role
        if found[3]:
            argument["values"] = self.values(found[3].split())
        return argument

    def values(self, words):
        ordered = {"sorted": True} if words[-1] == "sorted" else {}
        kind, *given = words[:-1] if ordered else words
        self.demand(kind in VALUES and VALUES[kind] in (None, len(given)), f"declares values `{' '.join(words)}`")
        numbers = [number(word) for word in given]
        value = True if kind == "permutation" else numbers[0] if kind == "constant" else numbers
        return {kind: value, **ordered}

    def read_signature(self):
        found = re.search(r"^void reference\((.*?)\)", self.reference, re.DOTALL | re.MULTILINE)
        self.demand(found, "has no reference")
        parameters = " ".join(found[1].split())
        self.signature = f"void solve({parameters})"
        self.arguments = []
        for parameter in parameters.split(", "):
            c_type, _, name = parameter.rpartition(" ")
            argument = self.buffers.get(name)
            if argument is None:
                self.demand(name in self.size_names and c_type in DTYPES, f"does not declare `{parameter}`")
                argument = {"name": name, "dtype": DTYPES[c_type], "role": "size"}
            base = C_TYPES[argument["dtype"]]
            wanted = {"in": f"const {base}*", "out": f"{base}*", "inout": f"{base}*"}.get(argument["role"], base)
            self.demand(c_type == wanted, f"`{parameter}` should be of type {wanted}")
            self.arguments.append(argument)
        self.demand({*self.buffers} <= {a["name"] for a in self.arguments}, "declares more than its parameters")

    def wrong_code(self, old, new):
        return self.solution.replace(old, new)

    def prompt(self):
        listed = []
        for argument in self.arguments:
            name, dtype, role = argument["name"], argument["dtype"], argument["role"]
            if role in ROLES:
                shape = ", ".join(map(str, argument["shape"]))
                listed.append(f"- `{name}`: {dtype} [{shape}], {ROLES[role]}")
            elif role == "scalar":
                listed.append(f"- `{name}`: {dtype}, a scalar")
        smallest = ", ".join(f"{name} = {min(s[name] for s in self.sizes)}" for name in self.size_names)
        typical = ", ".join(f"{name} = {value}" for name, value in self.benchmark.items())
        sizes = (f"Sizes may be as small as {smallest} and need not be multiples of anything unless said above. "
                 f"It should be fast for {typical}.")
        tolerance = ("The results must be exact." if self.tolerance is None else
                     f"Floating-point results are compared with a relative and absolute tolerance of "
                     f"{self.tolerance:g}, all others exactly.")
        return PROMPT.format(statement=self.statement, signature=self.signature, arguments="\n".join(listed),
                             sizes=sizes, tolerance=tolerance)

    def record(self):
        sizes = self.sizes[-1:] + self.sizes[:-1]  # the first comes twice, which exposes answers that were remembered
        check = {"type": "kernel", "signature": self.signature, "arguments": self.arguments, "sizes": sizes,
                 "benchmark_size": self.benchmark, "reference": self.reference, "rtol": self.tolerance or 0,
                 "atol": self.tolerance or 0}
        return {"id": self.id, "prompt": [{"role": "user", "content": self.prompt()}],
                "task": {"language": "cuda", "entry_point": "solve", "check": check, "limits": LIMITS,
                         "solution": self.solution}}


def number(word):
    """A number, or an expression of sizes as it is."""
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return word


def problems(folder):
    """All problems under `folder`, in order of their ids."""
    return [Problem(file) for file in sorted(Path(folder).glob("level*/*.cu"))]
