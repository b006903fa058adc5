"""A small grammar of CUDA kernels: problems, and the ways in which a kernel for each may be written, right or wrong.

A kernel is a template with slots. The first choice of a slot is right, the others are the usual mistakes: a missing
bounds check, a grid that is rounded down, a missing barrier, a wrong index, sign or start value. `draw` writes a kernel
as an author does who makes such mistakes; `repair` writes the next one as that author does after reading the verdict.
What is right is not decided here: leap-verify runs the kernels.
"""

from dataclasses import dataclass, field

PROMPT = "{statement}\n{signature};"
ANSWER = "```cuda\n{code}```"
LIMITS = {"cpu_s": 10, "wall_s": 60, "memory_mb": 2048}

# What leap-sample tells a policy by default.
FEEDBACK = ("The solution was run. Result: {status}\n{feedback}\n\n"
            "Find out what is wrong, then give the whole corrected solution in one fenced code block.")

ELEMENTS = """\
__global__ void kernel({parameters}) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {bound}{body};
}}
void solve({parameters}) {{
  kernel<<<{grid}, 256>>>({arguments});
}}
"""

ROWS = """\
__global__ void kernel(const float* x, float* y, int m) {{
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = {start};
  for (int c = t; c < m; c += 256) v = {gather};
  s[t] = v;
  {first_barrier}for (int h = 128; h > 0; h /= 2) {{
    if (t < h) s[t] = {merge};
    {barrier}}}
  if (t == 0) y[blockIdx.x] = {finish};
}}
void solve(const float* x, float* y, int n, int m) {{
  kernel<<<n, 256>>>(x, y, m);
}}
"""

# Statuses that point at a slot: there the author looks first.
BLAMED = {"out_of_bounds": ("bound", "body"), "race": ("first_barrier", "barrier"), "launch_error": ("grid",),
          "no_output": ("grid",), "device_fault": ("bound", "body")}


def feedback(verdict):
    return FEEDBACK.format(status=verdict["status"], feedback=verdict["feedback"].strip())


@dataclass
class Problem:
    """One problem: what is asked, and the choices of each slot, [(text, weight)], the right one first."""

    id: str
    statement: str
    arguments: list
    sizes: list
    benchmark: dict
    reference: str
    template: str
    slots: dict
    fixed: dict = field(default_factory=dict)

    @property
    def parameters(self):
        return ", ".join(f"{kind}{name}" for name, kind, _ in self.arguments)

    def record(self):
        """The line that leap-sample and leap-verify read."""
        signature = f"void solve({self.parameters})"
        arguments = [{"name": name, "dtype": "int32" if kind == "int " else "float32", **rest}
                     for name, kind, rest in self.arguments]
        check = {"type": "kernel", "signature": signature, "arguments": arguments, "sizes": self.sizes,
                 "benchmark_size": self.benchmark,
                 "reference": f"void reference({self.parameters}) {{\n{self.reference}\n}}\n", "rtol": 1e-4, "atol": 1e-4}
        prompt = PROMPT.format(statement=self.statement, signature=signature)
        return {"id": self.id, "prompt": [{"role": "user", "content": prompt}],
                "task": {"language": "cuda", "entry_point": "solve", "check": check, "limits": LIMITS,
                         "solution": self.code(self.right())}}

    def right(self):
        return {slot: 0 for slot in self.slots}

    def code(self, choices):
        """The kernel of these choices, {slot: index}."""
        chosen = {slot: self.slots[slot][index][0] for slot, index in choices.items()}
        return self.template.format(parameters=self.parameters,
                                    arguments=", ".join(name for name, _, _ in self.arguments), **chosen, **self.fixed)

    def choice(self, slot, rng):
        weights = [weight for _, weight in self.slots[slot]]
        return rng.choices(range(len(weights)), weights)[0]

    def draw(self, rng):
        return {slot: self.choice(slot, rng) for slot in self.slots}

    def repair(self, choices, status, rng):
        """The choices after a verdict: a mistake in a slot that the status points at is mostly mended, others seldom."""
        blamed = BLAMED.get(status) or [slot for slot in choices if slot not in ("grid", "bound", "first_barrier", "barrier")]
        return {slot: index and (0 if rng.random() < (0.7 if slot in blamed else 0.3) else self.choice(slot, rng))
                for slot, index in choices.items()}


def buffer(name, role, *shape, values=None):
    """(name, its type in C, the rest of its declaration)."""
    declared = {"shape": list(shape), "role": role}
    if values:
        declared["values"] = values
    return name, "const float* " if role == "in" else "float* ", declared


def number(name, values):
    return name, "float ", {"role": "scalar", "values": values}


def size(name):
    return name, "int ", {"role": "size"}


def elements(name, statement, arguments, count, body, wrong, care=1.0):
    """A problem of one thread an element. `count` is the number of elements, `wrong` what `body` becomes by mistake."""
    sizes = [{"n": 1000}, {"n": 1}, {"n": 300}]
    benchmark = {"n": 2000}
    if any(argument[0] == "m" for argument in arguments):
        sizes, benchmark = [{"n": 20, "m": 33}, {"n": 1, "m": 1}, {"n": 50, "m": 7}], {"n": 40, "m": 50}
    few = 1 / care
    slots = {"bound": [(f"if (i < {count}) ", 8), ("", 1.6 * few), (f"if (i <= {count}) ", 0.8 * few)],
             "body": [(body, 8)] + [(text, 3 * few / len(wrong)) for text in wrong],
             "grid": [(f"({count} + 255) / 256", 8), (f"{count} / 256", 1.2 * few)]}
    reference = f"  for (int i = 0; i < {count}; ++i) {body};"
    return Problem(name, statement, arguments, sizes, benchmark, reference, ELEMENTS, slots)


def rows(name, statement, start, gather, merge, finish, wrong, care=1.0, values=None):
    """A problem of one block a row. `wrong` says what a slot becomes by mistake."""
    few = 1 / care
    barrier = "__syncthreads();\n  "
    slots = {"start": [(start, 8)], "gather": [(gather, 8)], "first_barrier": [(barrier, 8), ("", 1.5 * few)],
             "merge": [(merge, 8)], "barrier": [(barrier, 8), ("", 2 * few)], "finish": [(finish, 8)]}
    for slot, text in wrong:
        slots[slot].append((text, 2.2 * few))
    arguments = [buffer("x", "in", "n", "m", values=values), buffer("y", "out", "n"), size("n"), size("m")]
    whole = gather.replace("blockIdx.x", "r")
    reference = (f"  for (int r = 0; r < n; ++r) {{\n    double v = {start};\n"
                 f"    for (int c = 0; c < m; ++c) v = {whole};\n    y[r] = {finish.replace('s[0]', 'v')};\n  }}")
    reference = reference.replace("fmaxf", "fmax").replace("fminf", "fmin").replace("fabsf", "fabs")
    sizes = [{"n": 3, "m": 300}, {"n": 1, "m": 1}, {"n": 2, "m": 97}]
    return Problem(name, statement, arguments, sizes, {"n": 4, "m": 513}, reference, ROWS, slots)


def one_input(name, statement, body, wrong, care=1.0):
    return elements(f"map/{name}", statement, [buffer("x", "in", "n"), buffer("y", "out", "n"), size("n")], "n", body, wrong,
                    care)


def two_inputs(name, statement, body, wrong, care=1.0):
    return elements(f"zip/{name}", statement, [buffer("a", "in", "n"), buffer("b", "in", "n"), buffer("c", "out", "n"),
                                               size("n")], "n", body, wrong, care)


def with_scalar(name, statement, role, body, wrong, care=1.0):
    return elements(f"scalar/{name}", statement, [number("a", {"uniform": [0.5, 2]}), buffer("x", "in", "n"),
                                                  buffer("y", role, "n"), size("n")], "n", body, wrong, care)


def matrix(name, statement, shape, body, wrong, care=1.0):
    return elements(f"matrix/{name}", statement, [buffer("x", "in", "n", "m"), buffer("y", "out", *shape), size("n"),
                                                  size("m")], "n * m", body, wrong, care)


def matrix_vector(name, statement, length, body, wrong, care=1.0):
    return elements(f"matrix/{name}", statement, [buffer("x", "in", "n", "m"), buffer("b", "in", length),
                                                  buffer("y", "out", "n", "m"), size("n"), size("m")], "n * m", body, wrong,
                    care)


def problems():
    """All problems, in a fixed order. `care` above 1: few mistakes are made; below 1: many."""
    return [
        one_input("double", "Twice each element of x.", "y[i] = 2.0f * x[i]", ["y[i] = x[i]", "y[i] = x[i] * x[i]"], 3),
        one_input("negate", "The negative of each element of x.", "y[i] = -x[i]", ["y[i] = x[i]"], 3),
        one_input("square", "The square of each element of x.", "y[i] = x[i] * x[i]", ["y[i] = 2.0f * x[i]"]),
        one_input("abs", "The absolute value of each element of x.", "y[i] = fabsf(x[i])", ["y[i] = -x[i]"]),
        one_input("relu", "ReLU of each element of x.", "y[i] = fmaxf(x[i], 0.0f)",
                  ["y[i] = fminf(x[i], 0.0f)", "y[i] = fabsf(x[i])"]),
        one_input("leaky", "Leaky ReLU of each element of x, with slope 0.1.", "y[i] = fmaxf(x[i], 0.1f * x[i])",
                  ["y[i] = fmaxf(x[i], 0.1f)", "y[i] = fminf(x[i], 0.1f * x[i])"], 0.5),
        one_input("clamp", "Clamp each element of x to -1 .. 1.", "y[i] = fminf(fmaxf(x[i], -1.0f), 1.0f)",
                  ["y[i] = fmaxf(fminf(x[i], -1.0f), 1.0f)", "y[i] = fminf(x[i], 1.0f)"], 0.5),
        one_input("sigmoid", "The sigmoid of each element of x.", "y[i] = 1.0f / (1.0f + expf(-x[i]))",
                  ["y[i] = 1.0f / (1.0f + expf(x[i]))", "y[i] = expf(x[i])"], 0.7),
        one_input("silu", "SiLU of each element of x.", "y[i] = x[i] / (1.0f + expf(-x[i]))",
                  ["y[i] = x[i] / (1.0f + expf(x[i]))", "y[i] = 1.0f / (1.0f + expf(-x[i]))"], 0.5),
        one_input("softsign", "Softsign of each element of x.", "y[i] = x[i] / (1.0f + fabsf(x[i]))",
                  ["y[i] = x[i] / (1.0f + x[i] * x[i])"], 0.7),
        one_input("reverse", "The elements of x in reverse order.", "y[i] = x[n - 1 - i]", ["y[i] = x[n - i]"], 0.5),
        one_input("rotate", "The elements of x, moved one place to the left; the first one comes last.",
                  "y[i] = x[(i + 1) % n]", ["y[i] = x[i + 1]", "y[i] = x[(i - 1) % n]"], 0.5),

        two_inputs("add", "The sum of a and b, element by element.", "c[i] = a[i] + b[i]", ["c[i] = a[i] - b[i]"], 3),
        two_inputs("subtract", "a minus b, element by element.", "c[i] = a[i] - b[i]", ["c[i] = b[i] - a[i]"]),
        two_inputs("multiply", "The product of a and b, element by element.", "c[i] = a[i] * b[i]", ["c[i] = a[i] + b[i]"], 3),
        two_inputs("larger", "The larger of a and b, element by element.", "c[i] = fmaxf(a[i], b[i])",
                   ["c[i] = fminf(a[i], b[i])"]),
        two_inputs("smaller", "The smaller of a and b, element by element.", "c[i] = fminf(a[i], b[i])",
                   ["c[i] = fmaxf(a[i], b[i])"]),
        two_inputs("distance", "The absolute difference of a and b, element by element.", "c[i] = fabsf(a[i] - b[i])",
                   ["c[i] = a[i] - b[i]", "c[i] = fabsf(a[i] + b[i])"], 0.7),
        two_inputs("squares", "The sum of the squares of a and b, element by element.",
                   "c[i] = a[i] * a[i] + b[i] * b[i]", ["c[i] = a[i] * b[i]", "c[i] = a[i] * a[i] - b[i] * b[i]"], 0.7),
        two_inputs("gated", "a times ReLU of b, element by element.", "c[i] = a[i] * fmaxf(b[i], 0.0f)",
                   ["c[i] = fmaxf(a[i] * b[i], 0.0f)", "c[i] = b[i] * fmaxf(a[i], 0.0f)"], 0.5),

        with_scalar("scale", "x times a.", "out", "y[i] = a * x[i]", ["y[i] = a + x[i]"], 3),
        with_scalar("shift", "x plus a.", "out", "y[i] = x[i] + a", ["y[i] = a * x[i]"]),
        with_scalar("axpy", "Add a times x to y.", "inout", "y[i] = a * x[i] + y[i]", ["y[i] = a * x[i]", "y[i] = x[i] + y[i]"]),
        with_scalar("blend", "Replace y by a * y + (1 - a) * x.", "inout", "y[i] = a * y[i] + (1.0f - a) * x[i]",
                    ["y[i] = a * x[i] + (1.0f - a) * y[i]", "y[i] = a * y[i] + x[i]"], 0.5),

        matrix("transpose", "The transpose of the n x m matrix x.", ("m", "n"), "y[i % m * n + i / m] = x[i]",
               ["y[i % n * m + i / n] = x[i]", "y[i] = x[i % m * n + i / m]"], 0.5),
        matrix("mirror", "Each row of the n x m matrix x in reverse order.", ("n", "m"),
               "y[i] = x[i / m * m + m - 1 - i % m]", ["y[i] = x[n * m - 1 - i]", "y[i] = x[i / m * m + m - i % m]"], 0.5),
        matrix_vector("add_row", "Add the vector b to each row of the n x m matrix x.", "m", "y[i] = x[i] + b[i % m]",
                      ["y[i] = x[i] + b[i / m]", "y[i] = x[i] + b[i]"]),
        matrix_vector("scale_rows", "Multiply row r of the n x m matrix x by b[r].", "n", "y[i] = x[i] * b[i / m]",
                      ["y[i] = x[i] * b[i % m]", "y[i] = x[i] * b[i / n]"]),

        rows("rows/sum", "The sum of each row of the n x m matrix x.", "0.0f", "v + x[blockIdx.x * m + c]", "s[t] + s[t + h]",
             "s[0]", [("start", "1.0f"), ("gather", "v + x[c]")]),
        rows("rows/max", "The largest element of each row of the n x m matrix x.", "-INFINITY",
             "fmaxf(v, x[blockIdx.x * m + c])", "fmaxf(s[t], s[t + h])", "s[0]",
             [("start", "0.0f"), ("merge", "fminf(s[t], s[t + h])")], values={"normal": [-4, 1]}),
        rows("rows/min", "The smallest element of each row of the n x m matrix x.", "INFINITY",
             "fminf(v, x[blockIdx.x * m + c])", "fminf(s[t], s[t + h])", "s[0]",
             [("start", "0.0f"), ("gather", "fminf(v, x[c])")], values={"normal": [4, 1]}),
        rows("rows/squares", "The sum of the squares of each row of the n x m matrix x.", "0.0f",
             "v + x[blockIdx.x * m + c] * x[blockIdx.x * m + c]", "s[t] + s[t + h]", "s[0]",
             [("gather", "v + x[blockIdx.x * m + c]"), ("merge", "s[t] * s[t + h]")]),
        rows("rows/peak", "The largest absolute value of each row of the n x m matrix x.", "0.0f",
             "fmaxf(v, fabsf(x[blockIdx.x * m + c]))", "fmaxf(s[t], s[t + h])", "s[0]",
             [("gather", "fmaxf(v, x[blockIdx.x * m + c])"), ("merge", "s[t] + s[t + h]")], values={"normal": [-1, 1]}),
        rows("rows/mean", "The mean of each row of the n x m matrix x.", "0.0f", "v + x[blockIdx.x * m + c]",
             "s[t] + s[t + h]", "s[0] / m", [("finish", "s[0]"), ("finish", "s[0] / 256")], 0.7),
    ]
