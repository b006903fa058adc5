"""How the problems in examples/problems/source are declared.

A problem is a function under one of the decorators below: its name, its docstring (the statement) and its body (the
known-good solution). Public cases are written by hand: the docstring's doctests, or `examples`. Hidden cases give
inputs only; the solution says what is expected. `also` is a second way to solve the problem, and must agree on all.
"""

import ast
import copy
import doctest
import inspect
import textwrap

from plaincheck import equal, output_of, plain

LIMITS = {"cpu_s": 2, "wall_s": 10, "memory_mb": 512}
# Naming the function twice matters: small models rename it otherwise.
ASK_FUNCTION = ("Write the Python function `{call}`.\n\n```python\n{starter}```\n\n"
                "Answer with the complete function `{name}` in one ```python block and nothing else.")
ASK_PROGRAM = ("{statement}\n\n{examples}\n\nWrite a Python program that reads standard input and prints the answer. "
               "Answer with the complete program in one ```python block and nothing else.")

declared = []


class ProblemError(Exception):
    """A declaration that contradicts itself."""


def demand(holds, function, what):
    if not holds:
        raise ProblemError(f"{function.__name__}: {what}")


def parts(function):
    """Source and syntax tree of a declared function, without its decorators."""
    source = textwrap.dedent(inspect.getsource(function))
    node = ast.parse(source).body[0]
    lines = source.splitlines(keepends=True)[node.lineno - 1:]
    return "".join(lines), ast.parse("".join(lines)).body[0]


def split(function):
    """(signature with docstring, body, docstring): the first two are source, and together the whole function."""
    source, node = parts(function)
    lines = source.splitlines(keepends=True)
    at = node.body[0].end_lineno
    return "".join(lines[:at]), "".join(lines[at:]), inspect.getdoc(function)


def doctests(function):
    """The docstring's examples: [(arguments, expected)]."""
    found = []
    for example in doctest.DocTestParser().get_examples(function.__doc__):
        call = ast.parse(example.source.strip(), mode="eval").body
        demand(call.func.id == function.__name__, function, "an example calls something else")
        want = ast.literal_eval(example.want.strip() or "None")
        found.append(([ast.literal_eval(argument) for argument in call.args], want))
    return found


def call(hidden, also=None):
    """A function checked by its results. An entry of `hidden` is a tuple of arguments, or the only argument."""

    def declare(function):
        single = len(inspect.signature(function).parameters) == 1
        answer = lambda solve, args: plain(solve(*copy.deepcopy(args)))
        cases = [{"args": args, "expect": plain(expect), "public": True} for args, expect in doctests(function)]
        demand(cases, function, "has no example")
        for case in cases:
            demand(equal(answer(function, case["args"]), case["expect"]), function, f"fails its example {case}")
        for entry in hidden:
            args = [entry] if single else list(entry)
            cases.append({"args": args, "expect": answer(function, args)})
        for case in cases:
            agrees = also is None or equal(answer(also, case["args"]), case["expect"])
            demand(agrees, function, f"`also` differs: {case}")
        add_function(function, {"type": "call", "cases": cases})
        return function

    return declare


def script(test):
    """A function checked by assertions: `test` defines check(candidate). For problems with several right answers."""

    def declare(function):
        names = {}
        exec(test, names)
        names["check"](function)
        for args, expect in doctests(function):
            demand(equal(plain(function(*args)), plain(expect)), function, "fails its example")
        add_function(function, {"type": "script", "code": textwrap.dedent(test).strip("\n") + "\n", "call": "check"})
        return function

    return declare


def stdio(examples, hidden, also=None):
    """A program: the function's body reads standard input. `examples` are (input, output), `hidden` inputs only."""

    def declare(function):
        _, body, statement = split(function)
        solution = textwrap.dedent(body).strip("\n") + "\n"
        program = compile(solution, function.__name__, "exec")
        cases = [{"stdin": given, "stdout": wanted, "public": True} for given, wanted in examples]
        demand(cases, function, "has no example")
        for case in cases:
            demand(output_of(program, case["stdin"]) == case["stdout"], function, f"fails its example {case}")
        cases += [{"stdin": given, "stdout": output_of(program, given)} for given in hidden]
        for case in cases:
            agrees = also is None or str(also(case["stdin"])).split() == case["stdout"].split()
            demand(agrees, function, f"`also` differs: {case}")
        shown = "\n\n".join(f"Input:\n```\n{given}```\nOutput:\n```\n{wanted}```" for given, wanted in examples)
        prompt = ASK_PROGRAM.format(statement=" ".join(statement.split()), examples=shown)
        add(function, prompt, {"language": "python", "check": {"type": "stdio", "cases": cases}}, solution)
        return function

    return declare


def add_function(function, check):
    starter, body, _ = split(function)
    task = {"language": "python", "starter": starter, "entry_point": function.__name__, "check": check}
    name = function.__name__
    prompt = ASK_FUNCTION.format(call=f"{name}{inspect.signature(function)}", name=name, starter=starter)
    add(function, prompt, task, starter + body)


def add(function, prompt, task, solution):
    level = function.__module__
    declared.append({"id": f"{level}/{function.__name__}", "prompt": [{"role": "user", "content": prompt}],
                     "task": {**task, "limits": LIMITS, "solution": solution}})
