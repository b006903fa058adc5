# A child of the sandbox's supervisor that takes Python apart by its grammar. Its stdin is a JSON list of requests, its
# answer a JSON list of what each gave. Nothing of the code is run.
#
# {"code", "stdin": bool, "entry_point", "max_functions"} -> {"functions": [{name, signature, doc, calls}], "preamble",
# "main", "error"}; {"codes": [..], "max_functions"} -> [{"members": [..], "functions": [.. with "codes"], ..}]: groups of
# whole programs that define the same functions.
import ast
import copy
import json
import re

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)


class Invalid(Exception):
    def __init__(self, line, message):
        super().__init__("line %d: %s" % (line, message))


def parse(code):
    """The tree of a text whose lines end with newlines only."""
    try:
        tree = ast.parse(code)
        compile(tree, "code", "exec", dont_inherit=True)
        return tree
    except SyntaxError as error:
        raise Invalid(error.lineno or 1, "syntax error: %s" % error.msg)
    except ValueError as error:
        raise Invalid(1, str(error))
    except (RecursionError, MemoryError):
        raise Invalid(1, "nested too deep")


def same_lines(code):
    return code.replace("\r\n", "\n").replace("\r", "\n")


def first_line(node):
    return min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])])


def is_blank(node):
    """`...`, `pass`, a string, raise NotImplementedError."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(error, ast.Name) and error.id == "NotImplementedError"
    if isinstance(node, ast.Pass):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_stub(node):
    return isinstance(node, FUNCTIONS) and all(map(is_blank, node.body))


def signature_of(node):
    bare = copy.copy(node)
    bare.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(bare).rpartition(":")[0].strip()


def names_called(node):
    return {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def names_mentioned(doc):
    """Functions that a docstring calls: in a line "Calls: a, b", as `a` or as a(..)."""
    found = set(re.findall(r"`(\w+)[`(]|\b(\w+)\(", doc))
    out = {a or b for a, b in found}
    for line in re.findall(r"(?im)^\s*calls\s*:(.*)$", doc):
        out.update(re.findall(r"\w+", line))
    return out


def described(node, names):
    doc = (ast.get_docstring(node) or "").encode("utf-8", "replace").decode()
    called = names_mentioned(doc) | names_called(node)
    return {"name": node.name, "signature": signature_of(node), "doc": doc,
            "calls": [name for name in names if name in called]}


def cycle(functions):
    """The functions of a cycle of two or more, or []."""
    calls = {f["name"]: [c for c in f["calls"] if c != f["name"]] for f in functions}
    state, path = {}, []

    def visit(name):
        state[name] = 1
        path.append(name)
        for other in calls[name]:
            if state.get(other) == 1:
                return path[path.index(other):]
            if other not in state:
                found = visit(other)
                if found:
                    return found
        state[name] = 2
        path.pop()
        return []

    for name in calls:
        if name not in state:
            found = visit(name)
            if found:
                return found
    return []


def called_at_top(nodes):
    """Names of functions that run without being called from a function."""
    called = set()
    for node in nodes:
        if not isinstance(node, FUNCTIONS + (ast.ClassDef,)):
            called |= names_called(node)
    return called


def defines(nodes, name):
    for node in nodes:
        if isinstance(node, FUNCTIONS + (ast.ClassDef,)) and node.name == name:
            return True
        if isinstance(node, ast.ClassDef) and node.name == "Solution" and defines(node.body, name):
            return True
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return True
    return False


def split(request):
    code = same_lines(request["code"])
    lines = code.split("\n")
    if not code.strip():
        raise Invalid(1, "the completion holds no code")
    tree = parse(code)
    stubs = [node for node in tree.body if is_stub(node)]
    others = [node for node in tree.body if not is_stub(node)]
    if not stubs:  # all have bodies: what they declare counts, but for main the bodies do not
        stubs = [node for node in others if isinstance(node, FUNCTIONS) and not (request["stdin"] and node.name == "main")]
        others = [node for node in others if node not in stubs]
    if not stubs:
        raise Invalid(1, "no function is declared")
    most = request["max_functions"]
    if len(stubs) > most:
        raise Invalid(stubs[most].lineno, "%d functions are declared, at most %d may be" % (len(stubs), most))
    names = [node.name for node in stubs]
    for at, node in enumerate(stubs):
        if node.name in names[:at]:
            raise Invalid(node.lineno, "`%s` is declared twice" % node.name)
        if not (ast.get_docstring(node) or "").strip():
            raise Invalid(node.lineno, "`%s` has no docstring" % node.name)
    for node in others:
        if isinstance(node, FUNCTIONS + (ast.ClassDef,)) and node.name in names:
            raise Invalid(node.lineno, "`%s` is declared and defined" % node.name)
        if isinstance(node, ast.ClassDef) and not node.bases:
            for inner in node.body:
                if is_stub(inner) and any(isinstance(s, ast.Expr) and s.value.value is ... for s in inner.body):
                    raise Invalid(inner.lineno, "`%s` of class %s has no body; only functions at the top level are "
                                  "implemented" % (inner.name, node.name))

    functions = [described(node, names) for node in stubs]
    around = cycle(functions)
    if around and not any(re.search(r"(?i)recurs", f["doc"]) for f in functions if f["name"] in around):
        raise Invalid(stubs[names.index(around[0])].lineno, "%s call each other in a circle; where recursion is meant, a "
                      "docstring has to say so" % ", ".join("`%s`" % name for name in around))

    # Lines before the first stub, and those after it that are no stub's.
    head = first_line(stubs[0])
    preamble = "\n".join(lines[: head - 1])
    inside = {n for node in stubs for n in range(first_line(node), node.end_lineno + 1)}
    kept = {n for node in others for n in range(first_line(node), node.end_lineno + 1)}
    for node in stubs:  # the comments above a stub go with it
        number = first_line(node) - 1
        while number > head and number not in kept and lines[number - 1].lstrip().startswith("#"):
            inside.add(number)
            number -= 1
    tail = [line for number, line in enumerate(lines, 1) if number > head and number not in inside]
    main = re.sub(r"\n{3,}", "\n\n", "\n".join(tail)).strip("\n")
    running = [node for node in others if not isinstance(node, FUNCTIONS + IMPORTS + (ast.ClassDef, ast.Assign,
                                                                                     ast.AnnAssign)) and not is_blank(node)]
    if request["stdin"]:
        has_main = "main" in names or defines(others, "main")
        if has_main and "main" not in called_at_top(others):
            main = (main + "\n\nmain()").lstrip("\n")
        elif not has_main and not running:
            raise Invalid(len(code.rstrip("\n").split("\n")), "no entry point: nothing reads the input; `main()` is missing")
    else:
        entry = request.get("entry_point") or ""
        if entry and entry not in names and not defines(others, entry):
            raise Invalid(stubs[-1].lineno, "no entry point: `%s` is missing" % entry)
    return {"functions": functions, "preamble": preamble.strip("\n"), "main": main, "error": None}


def is_main_guard(node):
    return isinstance(node, ast.If) and not node.orelse and "__name__" in ast.unparse(node.test)


def taken_apart(code):
    """A whole program as (functions, imports, other statements); None where it cannot be used."""
    try:
        tree = parse(code)
    except Invalid:
        return None
    functions, imports, rest = [], [], []
    for node in tree.body:
        if isinstance(node, FUNCTIONS):
            functions.append(node)
        elif isinstance(node, IMPORTS):
            imports.append(node)
        elif is_main_guard(node):
            rest += node.body
        elif not is_blank(node):
            rest.append(node)
    names = [node.name for node in functions]
    return (functions, imports, rest) if functions and len(set(names)) == len(names) else None


def shape(node):
    return node.name, len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs), type(node).__name__


def group(request):
    """Programs with the same functions and the same rest, imports aside."""
    groups = {}
    for at, code in enumerate(request["codes"]):
        code = same_lines(code or "")
        apart = taken_apart(code)
        if apart is None:
            continue
        functions, imports, rest = apart
        key = (tuple(sorted(map(shape, functions))), tuple(ast.dump(node) for node in rest))
        groups.setdefault(key, []).append((at, code.split("\n"), functions, imports, rest))
    out = []
    for members in groups.values():
        if len(members) < 2:
            continue
        _, lines, first, _, rest = members[0]
        names = [node.name for node in first]
        imports = {}
        for _, _, _, more, _ in members:
            for node in more:
                text = ast.unparse(node)
                imports.setdefault(text, not text.startswith("from __future__"))
        before = [n for n in rest if isinstance(n, (ast.ClassDef, ast.Assign, ast.AnnAssign)) and
                  n.end_lineno < first_line(first[0])]
        preamble = sorted(imports, key=imports.get) + [ast.unparse(node) for node in before]
        functions = []
        for node in first:
            function = described(node, names)
            function["codes"] = []
            for _, own_lines, own, _, _ in members:
                other = next(n for n in own if n.name == node.name)
                function["codes"].append("\n".join(own_lines[first_line(other) - 1 : other.end_lineno]))
            functions.append(function)
        error = None
        if len(names) > request["max_functions"]:
            error = "%d functions are defined, at most %d may be" % (len(names), request["max_functions"])
        out.append({"members": [m[0] for m in members], "functions": functions, "preamble": "\n".join(preamble),
                    "main": "\n".join(ast.unparse(node) for node in rest if node not in before), "error": error})
    return out


SCOPES = FUNCTIONS + (ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DYNAMIC = {"globals", "vars", "locals", "exec", "eval", "setattr", "delattr", "compile", "__dict__", "__globals__", "modules",
           "__import__", "__setattr__"}


def bound_names(tree):
    """Names that a module binds or deletes at its top level, or by `global` in a function."""
    out, todo = set(), [(node, True) for node in tree.body]
    while todo:
        node, top = todo.pop()
        if isinstance(node, ast.Global):
            out.update(node.names)
        if top:
            if isinstance(node, FUNCTIONS + (ast.ClassDef,)):
                out.add(node.name)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                out.add(node.id)
            elif isinstance(node, ast.alias):
                out.add(node.asname or node.name.split(".")[0])
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                out.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                out.add(node.rest)
        inside = top and not isinstance(node, SCOPES)
        todo += [(child, inside) for child in ast.iter_child_nodes(node)]
    return out


NAMESPACES = {"globals", "vars", "locals", "__dict__", "__globals__"}
MODULES = {"modules", "__main__", "import_module", "__import__"}


def has(node, words):
    return any(isinstance(n, ast.Name) and n.id in words or isinstance(n, ast.Attribute) and n.attr in words
               for n in ast.walk(node))


def binds_computed(tree):
    """Does a module bind names of a name space, which it puts together when it runs?"""
    aliases, about_modules = set(), False
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and has(node.value, NAMESPACES):
            aliases.update(t.id for t in node.targets if isinstance(t, ast.Name))
        about_modules = about_modules or has(node, MODULES) or isinstance(node, ast.alias) and node.name in MODULES
    known = NAMESPACES | aliases
    fixed = lambda node: isinstance(node, ast.Constant)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if has(node.value, known) and not fixed(node.slice):
                return True
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and has(node.func.value, known):
            if node.func.attr in ("update", "__ior__") and any(not isinstance(a, ast.Dict) for a in node.args):
                return True
            if node.func.attr in ("setdefault", "__setitem__", "pop", "__delitem__") and node.args and not fixed(node.args[0]):
                return True
        if isinstance(node.func, ast.Name) and node.func.id == "exec" and node.args and not fixed(node.args[0]):
            return True
        called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called in ("setattr", "delattr", "__setattr__") and about_modules and not all(map(fixed, node.args[-2:-1])):
            return True
    return False


def binds(asked):
    try:
        tree = ast.parse(same_lines(asked["code"]))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = set(asked["names"])
    if names & bound_names(tree):
        return True
    words = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    words |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    if not words & DYNAMIC:
        return False
    texts = " ".join(n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return bool(names & set(re.findall(r"\w+", texts))) or binds_computed(tree)


def answer_to(request):
    if "bind" in request:
        return [binds(asked) for asked in request["bind"]]
    if "codes" in request:
        return group(request)
    try:
        return split(request)
    except Invalid as invalid:
        return {"functions": [], "error": str(invalid)}
