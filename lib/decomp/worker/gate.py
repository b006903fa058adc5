# What a decomposition's sources allow: read here, never run. Says whether parts may be compiled one by one, whether a run
# may fork where it first calls a function (tree), and whether functions may be run on values (trie). Only what is known
# to be harmless passes: a name or statement that is not listed here costs time, never a verdict.
import ast
import builtins
import marshal
import opcode
import re

OPS = opcode.opmap
LOAD_GLOBAL, LOAD_NAME = OPS["LOAD_GLOBAL"], OPS["LOAD_NAME"]
STORE_GLOBAL, DELETE_GLOBAL, STORE_NAME, DELETE_NAME = (
    OPS["STORE_GLOBAL"], OPS["DELETE_GLOBAL"], OPS["STORE_NAME"], OPS["DELETE_NAME"])
BUILTINS = frozenset(vars(builtins)) | {"exit", "quit", "copyright", "credits", "license", "help"}

# The text of such a program may depend on how it was put together, or looks at itself.
WHOLE_WORDS = re.compile(
    r"__future__|coding[:=]|__file__|__doc__|__annotations__|__cached__|__loader__|__spec__|__package__|inspect|traceback"
    r"|_getframe|__code__|linecache|co_[a-z]|tb_[a-z]|f_[a-z]+\b|settrace|setprofile|tracemalloc|tokenize|argv|\0|\f|\ufeff"
    r"|current_frames|faulthandler|stack_size|pickle|__import__|runpy|importlib|getsource|excepthook")
# Programs that need the interpreter's own end.
FINAL_WORDS = re.compile(
    r"__del__|weakref|atexit|threading|_thread|concurrent|asyncio|multiprocessing|open\(|fdopen|TextIOWrapper"
    r"|finally|tempfile|stdout\s*=|\bio\b|signal|contextlib|logging|stderr\s*=|closefd|__stdout__")

PURE_MODULES = frozenset((
    "math cmath itertools functools collections collections.abc heapq bisect string operator re typing fractions copy json"
    " textwrap numbers statistics").split())
TREE_MODULES = PURE_MODULES | frozenset(
    "sys decimal datetime dataclasses enum array types struct random abc io unicodedata calendar zlib hashlib base64"
    " binascii pprint graphlib".split())
PURE_SYS = frozenset("stdin stdout stderr exit maxsize".split())
TREE_SYS = PURE_SYS | frozenset("setrecursionlimit getrecursionlimit maxsize float_info int_info version_info set_int_max_str_digits"
                                " getsizeof".split())
PURE_BUILTINS = frozenset((
    "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset"
    " hash hex input int isinstance issubclass iter len list map max min next oct ord pow print range repr reversed round"
    " set slice sorted str sum tuple zip type object NotImplemented Ellipsis __name__ __build_class__").split()) | frozenset(
        name for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, Exception)) | {"SystemExit"}
TREE_BUILTINS = PURE_BUILTINS | {"exit", "quit", "getattr", "setattr", "hasattr", "delattr", "super", "property",
                                 "staticmethod", "classmethod", "memoryview", "id", "BaseException", "KeyboardInterrupt",
                                 "GeneratorExit", "open"}
HIDDEN = re.compile(r"^_|^(gi|cr|ag|tb|f|co|func)_|^mro$")
METHODS = frozenset((
    "__init__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __hash__ __repr__ __str__ __len__ __getitem__ __setitem__"
    " __contains__ __iter__ __next__ __add__ __sub__ __mul__ __neg__ __bool__ __call__ __slots__").split())


class No(Exception):
    """Why not."""


def instructions(code):
    extended = 0
    data = code.co_code
    for at in range(0, len(data), 2):
        op, arg = data[at], data[at + 1] | extended
        if op == opcode.EXTENDED_ARG:
            extended = arg << 8
            continue
        extended = 0
        yield op, arg


class Names:
    """Global names that a compiled part reads when it is executed, reads later, binds and changes later."""

    def __init__(self, code):
        self.now, self.later, self.bound, self.changed = set(), set(), set(), set()
        self.scan(code, True)

    def scan(self, code, top):
        own = set()
        for op, arg in instructions(code):
            if op == LOAD_GLOBAL:
                (self.now if top else self.later).add(code.co_names[arg >> 1])
            elif op == LOAD_NAME:
                name = code.co_names[arg]
                if top:
                    self.now.add(name)
                elif name not in own:
                    # A class body runs at once; one inside a function, later. Both are counted.
                    self.now.add(name)
                    self.later.add(name)
            elif op == STORE_NAME:
                (self.bound if top else own).add(code.co_names[arg])
            elif op == DELETE_NAME and top:
                self.changed.add(code.co_names[arg])
            elif op in (STORE_GLOBAL, DELETE_GLOBAL):
                self.changed.add(code.co_names[arg])
        for constant in code.co_consts:
            if isinstance(constant, type(code)):
                self.scan(constant, False)


ALLOW_INCOMPLETE = 0x4000  # PyCF_ALLOW_INCOMPLETE_INPUT


def compile_part(text):
    """(code, tree) of a part that stands alone, None where it fails whatever stands around it; No where that is not sure."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        # What stands before it may be an `if`, or a block that this goes on.
        if re.match(r"\s*(#.*\n\s*)*(else|elif|except|finally|case)\b|[ \t]", text):
            raise No("a part that begins inside a statement")
        # Where the parser came to the end of the text, what follows might complete it.
        try:
            compile(text + "\n", "prog.py", "exec", ast.PyCF_ONLY_AST | ALLOW_INCOMPLETE, dont_inherit=True)
        except SyntaxError as error:
            if "incomplete input" not in str(error.msg):
                return None
        raise No("a part that may end inside a statement")
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise No("a part that cannot be read: " + type(error).__name__)
    try:
        return compile(text, "prog.py", "exec", dont_inherit=True), tree
    except SyntaxError:
        return None
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise No("a part that cannot be compiled: " + type(error).__name__)


def keeps_order(code):
    """Does the code come back from marshal as it was? A set among its constants gets another order."""
    return not any(isinstance(constant, frozenset) or isinstance(constant, type(code)) and not keeps_order(constant)
                   or isinstance(constant, tuple) and any(isinstance(item, frozenset) for item in constant)
                   for constant in code.co_consts)


def packed(code):
    """Its marshal, or "=" where the text is to be compiled again."""
    return marshal.dumps(code) if keeps_order(code) else b"="


def constant(node):
    """An expression whose value is immutable, made of constants alone."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return constant(node.operand)
    if isinstance(node, ast.BinOp):
        # A shift or power could be anything but quick.
        return constant(node.left) and constant(node.right) and not isinstance(node.op, ast.LShift) and (
            not isinstance(node.op, ast.Pow) or isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
            and 0 <= node.right.value <= 100)
    if isinstance(node, ast.Tuple):
        return all(map(constant, node.elts))
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("float", "int") and not node.keywords and all(
            isinstance(arg, ast.Constant) for arg in node.args)
    return False


def table(node):
    """A list, dict or set display of constants: mutable, so its uses are looked at."""
    if isinstance(node, ast.List):
        return all(constant(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(key is not None and constant(key) and constant(value) for key, value in zip(node.keys, node.values))
    if isinstance(node, ast.Set):
        return all(map(constant, node.elts))
    return False


class Part:
    """One text: its names, and what may be done with it."""

    def __init__(self, text, code, tree):
        self.text, self.code, self.tree = text, code, tree
        self.names = Names(code)
        self.binds = {}  # name -> what is bound to it: ("import", module, attribute), ("value", dump), ("code",)
        self.tables = set()
        self.inert = None  # why it is not

    def read_top(self, modules, sys_names, main):
        """The top level: definitions, imports and constants alone. Fills `binds`. Raises No."""
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name not in modules and alias.name != "sys":
                        raise No("module " + alias.name)
                    name = alias.asname or alias.name.split(".")[0]
                    self.bind(name, ("import", alias.name if alias.asname else name, ""))
            elif isinstance(node, ast.ImportFrom):
                if node.level or node.module not in modules and node.module != "sys":
                    raise No("module " + str(node.module))
                for alias in node.names:
                    if alias.name == "*" or alias.name.startswith("_"):
                        raise No("import of " + alias.name)
                    if node.module == "sys" and alias.name not in sys_names:
                        raise No("sys." + alias.name)
                    self.bind(alias.asname or alias.name, ("import", node.module, alias.name))
            elif isinstance(node, ast.FunctionDef):
                self.read_function(node)
                self.bind(node.name, ("code",))
            elif isinstance(node, ast.ClassDef):
                self.read_class(node)
                self.bind(node.name, ("code",))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                pass
            elif isinstance(node, ast.Pass):
                pass
            elif main:
                pass
            elif isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets) or (
                    isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if constant(node.value):
                    kind = ("value", ast.dump(node.value))
                elif table(node.value):
                    kind = ("code",)
                    self.tables.update(target.id for target in targets)
                else:
                    raise No("a value that is computed at the top level")
                for target in targets:
                    self.bind(target.id, kind)
            else:
                raise No("a statement at the top level: " + type(node).__name__)

    def bind(self, name, kind):
        if self.binds.setdefault(name, kind) != kind or kind == ("code",) and name in self.twice:
            raise No("`%s` is bound twice" % name)
        self.twice.add(name)

    twice = frozenset()

    def read_function(self, node):
        if node.decorator_list:
            raise No("a decorator at the top level")
        for default in node.args.defaults + [d for d in node.args.kw_defaults if d]:
            if not constant(default):
                raise No("a default that is not constant")
        self.annotations(node)

    def annotations(self, node):
        args = node.args
        every = [a.annotation for a in args.posonlyargs + args.args + args.kwonlyargs + [args.vararg, args.kwarg] if a]
        for note in every + [node.returns]:
            if note is not None:
                for inner in ast.walk(note):
                    if not isinstance(inner, (ast.Name, ast.Subscript, ast.Attribute, ast.Constant, ast.Tuple, ast.List,
                                              ast.BinOp, ast.BitOr, ast.expr_context)):
                        raise No("an annotation that computes")

    def read_class(self, node):
        if node.decorator_list or node.keywords or not all(isinstance(base, ast.Name) for base in node.bases):
            raise No("a class with decorators or computed bases")
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                self.read_function(item)
                if item.name.startswith("__") and item.name not in METHODS:
                    raise No("method " + item.name)
            elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) or isinstance(item, ast.Pass):
                pass
            elif isinstance(item, ast.Assign) and constant(item.value) and all(
                    isinstance(target, ast.Name) for target in item.targets):
                pass
            elif isinstance(item, ast.AnnAssign) and item.value is None:
                pass
            else:
                raise No("a class with more than methods")


class TrieCheck(ast.NodeVisitor):
    """Nothing in a part may keep state between calls, reach the process, or catch what ends a run. Raises No."""

    def __init__(self, part, before, declared):
        """`before`: the preamble, whose names all parts have."""
        self.part, self.declared = part, declared
        self.binds = {**before.binds, **part.binds}
        self.tables = before.tables | part.tables
        self.functions = 0  # depth
        self.locals = [set()]
        self.params = [set()]
        self.modules = {name for name, kind in self.binds.items() if kind[0] == "import" and not kind[2]}

    def generic_visit(self, node):
        if isinstance(node, self.REFUSED):
            raise No(type(node).__name__)
        super().generic_visit(node)

    REFUSED = (ast.Global, ast.With, ast.AsyncWith, ast.AsyncFor, ast.AsyncFunctionDef, ast.Await, ast.Import, ast.Delete) \
        + ((ast.TryStar,) if hasattr(ast, "TryStar") else ())

    def visit_Import(self, node):
        if not self.functions:
            return
        for alias in node.names:
            if alias.name not in PURE_MODULES and alias.name != "sys":
                raise No("module " + alias.name)
            self.modules.add(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node):
        if not self.functions:
            if node.module == "sys" and any(alias.name not in PURE_SYS for alias in node.names):
                raise No("sys")
            if node.module not in PURE_MODULES and node.module != "sys":
                raise No("module " + str(node.module))
            return
        if node.level or node.module not in PURE_MODULES and node.module != "sys":
            raise No("module " + str(node.module))
        for alias in node.names:
            if alias.name == "*" or node.module == "sys" and alias.name not in PURE_SYS:
                raise No("import of " + alias.name)

    def visit_Delete(self, node):
        for target in node.targets:
            if not isinstance(target, (ast.Subscript, ast.Name)) or isinstance(target, ast.Name) and not self.functions:
                raise No("del")
            if isinstance(target, ast.Subscript):
                self.store(target)
        for target in node.targets:
            self.visit(target)

    def visit_Try(self, node):
        if node.finalbody:
            raise No("finally")
        for handler in node.handlers:
            if handler.type is None:
                raise No("a bare except")
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        if self.functions == 0 and node.decorator_list:
            raise No("a decorator at the top level")
        for item in node.decorator_list:
            self.visit(item)
        for default in node.args.defaults + [d for d in node.args.kw_defaults if d]:
            self.visit(default)
        self.enter(node, node.body)

    def visit_Lambda(self, node):
        for default in node.args.defaults + [d for d in node.args.kw_defaults if d]:
            self.visit(default)
        self.enter(node, [node.body])

    def enter(self, node, body):
        self.functions += 1
        args = node.args
        self.params.append({a.arg for a in args.posonlyargs + args.args + args.kwonlyargs + [args.vararg, args.kwarg] if a})
        self.locals.append(set())
        for item in body:
            for inner in ast.walk(item):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    self.locals[-1].add(inner.id)
                elif isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                    self.locals[-1].add(inner.name)
        for item in body:
            self.visit(item)
        self.params.pop()
        self.locals.pop()
        self.functions -= 1

    def visit_ClassDef(self, node):
        if node.decorator_list or node.keywords:
            raise No("a class with decorators")
        for base in node.bases:
            self.visit(base)
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                if item.decorator_list or item.name.startswith("_") and item.name not in METHODS:
                    raise No("method " + item.name)
                self.own_self = item.args.args[0].arg if item.args.args else None
                self.visit(item)
            elif isinstance(item, ast.Assign) and constant(item.value):
                pass
            elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) or isinstance(item, ast.Pass):
                pass
            elif isinstance(item, ast.AnnAssign) and item.value is None:
                pass
            else:
                raise No("a class with more than methods")

    own_self = None

    def is_local(self, name):
        return any(name in names for names in self.locals) or any(name in names for names in self.params)

    def store(self, node):
        """A target that is an attribute or an item."""
        base = node.value
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(node, ast.Attribute):
            root = node.value
            if not isinstance(root, ast.Name) or root.id in self.modules:
                raise No("an attribute that is set")
            if root.id != self.own_self and (not any(root.id in names for names in self.locals)
                                             or any(root.id in names for names in self.params)):
                raise No("an attribute that is set")
            return
        if isinstance(base, ast.Name) and self.functions and not self.is_local(base.id):
            raise No("a global that is changed")

    def visit_Attribute(self, node):
        if HIDDEN.match(node.attr):
            raise No("attribute " + node.attr)
        if not isinstance(node.ctx, ast.Load):
            self.store(node)
        base = node.value
        if isinstance(base, ast.Name):
            if base.id in self.declared:
                raise No("an attribute of a declared function")
            if base.id in self.modules:
                kind = self.binds.get(base.id)
                if (kind[1] if kind else base.id) == "sys" and node.attr not in PURE_SYS:
                    raise No("sys." + node.attr)
                return
        self.visit(base)

    def visit_Subscript(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.store(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.tables and isinstance(node.ctx, ast.Load):
            self.visit(node.slice)
            return
        self.generic_visit(node)

    def visit_For(self, node):
        self.loop(node)

    def visit_comprehension(self, node):
        self.loop(node)

    def loop(self, node):
        for name, value in ast.iter_fields(node):
            if name == "iter" and isinstance(value, ast.Name) and value.id in self.tables:
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.AST):
                    self.visit(item)

    def visit_Compare(self, node):
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:]):
            if isinstance(op, (ast.Is, ast.IsNot)) and not any(
                    isinstance(side, ast.Constant) and (side.value is None or side.value is True or side.value is False)
                    for side in (left, right)):
                raise No("identity of objects")
            for side in (left, right):
                if isinstance(side, ast.Name) and side.id in self.declared:
                    raise No("a declared function that is compared")
        for side in sides:
            if isinstance(side, ast.Name) and side.id in self.tables:
                continue
            self.visit(side)

    def visit_Call(self, node):
        func = node.func
        if isinstance(func, ast.Name):
            if func.id == "type" and (len(node.args) != 1 or node.keywords):
                raise No("type(..)")
            if func.id == "print":
                for word in node.keywords:
                    if word.arg not in ("sep", "end", "flush", "file"):
                        raise No("print(**..)")
            if func.id in ("len", "sorted", "enumerate", "set", "list", "tuple", "sum", "max", "min", "dict") and len(
                    node.args) == 1 and isinstance(node.args[0], ast.Name) and node.args[0].id in self.tables:
                for word in node.keywords:
                    self.visit(word)
                return
        if isinstance(func, ast.Attribute) and func.attr in ("format", "format_map") and not (
                isinstance(func.value, ast.Constant) and "._" not in str(func.value.value)):
            if not (isinstance(func.value, ast.Constant)):
                raise No("a format that is computed")
        if isinstance(func, ast.Attribute) and func.attr in ("get", "items", "keys", "values", "index", "count") and isinstance(
                func.value, ast.Name) and func.value.id in self.tables:
            for item in [*node.args, *node.keywords]:
                self.visit(item)
            return
        self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in self.tables and isinstance(node.ctx, ast.Load) and not self.is_local(node.id):
            raise No("a global list, dict or set that is passed on")


TEXT_IO = re.compile(r"\binput\s*\(|stdin\s*\.\s*(read|readline|readlines)\b|in\s+(sys\.)?stdin\b|map\(.*stdin\s*\)|\(\s*(sys\.)?stdin\s*\)")
BYTES_IO = re.compile(r"stdin\s*\.\s*buffer")


def tree_check(part, before, declared):
    """What a run that forks at its first call of a function must not do: reach other processes or files."""
    modules = {name: kind[1] for name, kind in {**before.binds, **part.binds}.items() if kind[0] == "import" and not kind[2]}
    for node in ast.walk(part.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            for name in names:
                if name not in TREE_MODULES:
                    raise No("module " + str(name))
            if isinstance(node, ast.ImportFrom) and (node.level or any(alias.name == "*" for alias in node.names)):
                raise No("import *")
            if isinstance(node, ast.ImportFrom) and node.module == "sys" and any(a.name not in TREE_SYS for a in node.names):
                raise No("sys")
            if isinstance(node, ast.ImportFrom) and node.module == "random" or isinstance(node, ast.Import) and any(
                    a.name == "random" for a in node.names):
                if not re.search(r"random\.seed\(\s*\d+\s*\)|Random\(\s*\d+\s*\)", part.text):
                    raise No("chance")
            if isinstance(node, ast.Import):
                for alias in node.names:
                    modules[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.Attribute):
            if HIDDEN.match(node.attr) and not (node.attr in METHODS):
                raise No("attribute " + node.attr)
            if node.attr in ("sys", "os", "builtins", "modules"):
                raise No("attribute " + node.attr)
            if isinstance(node.value, ast.Name) and modules.get(node.value.id) == "sys" and node.attr not in TREE_SYS:
                raise No("sys." + node.attr)
            if not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name) and node.value.id in modules:
                raise No("a module that is changed")
            if isinstance(node.value, ast.Name) and node.value.id in declared:
                raise No("an attribute of a declared function")
        elif isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)):
            raise No("async")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Constant) or node.args[0].value != 0:
                raise No("open")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "hasattr",
                                                                                              "delattr"):
            if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant) or HIDDEN.match(str(node.args[1].value)):
                raise No(node.func.id)
        elif isinstance(node, ast.Name) and node.id in declared and isinstance(node.ctx, ast.Load):
            if id(node) not in part.called:
                raise No("a declared function that is not called")


def calls_of(part):
    part.called = {id(node.func) for node in ast.walk(part.tree) if isinstance(node, ast.Call)}


def analyse(preamble, functions, main, entry):
    """functions: [(name, [text, ..])]. Everything that the worker needs to know, as plain data."""
    out = {"whole": "", "tree": "", "trie": "", "bytes": False, "codes": [], "classes": [], "bad": [], "imports": [],
           "preamble": b"", "main": b"", "final": False}
    texts = [preamble, main] + [text for _, group in functions for text in group]
    out["final"] = any(FINAL_WORDS.search(text) for text in texts)
    for name, group in functions:
        out["classes"].append([group.index(text) for text in group])
        out["bad"].append([False] * len(group))
        out["codes"].append([b""] * len(group))
    try:
        for text in texts:
            found = WHOLE_WORDS.search(text)
            if found:
                raise No("`%s`" % found.group())
        parts, every, alive = [], [], []
        for i, (name, group) in enumerate(functions):
            row, seen = [], {}
            for j, text in enumerate(group):
                made = compile_part(text)
                if made is None:
                    out["bad"][i][j] = True
                    row.append(None)
                    continue
                part = Part(text, *made)
                row.append(part)
                every.append(part)
                out["classes"][i][j] = seen.setdefault(ast.dump(part.tree), j)
                out["codes"][i][j] = packed(part.code)
            parts.append(row)
        pre, end = compile_part(preamble), compile_part(main)
        if pre is None or end is None:
            raise No("a preamble or main that does not compile")
        pre, end = Part(preamble, *pre), Part(main, *end)
        out["preamble"], out["main"] = packed(pre.code), packed(end.code)
        for part in (pre, end, *every):
            for node in part.tree.body:
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Global) and outside_functions(node, inner):
                        raise No("`global` at the top level")
        wanted = set()
        for part in (pre, end, *every):
            for node in ast.walk(part.tree):
                if isinstance(node, ast.Import):
                    wanted.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    wanted.add(node.module)
        out["imports"] = sorted(wanted & TREE_MODULES - {"random"})
    except No as why:
        out["whole"] = str(why)
        out["tree"] = out["trie"] = "parts that are not compiled one by one"
        for i, (name, group) in enumerate(functions):
            out["classes"][i] = [group.index(text) for text in group]
            out["bad"][i] = [False] * len(group)
        return out
    names = [name for name, _ in functions]
    try:
        joint(names, parts, pre, end, every, TREE_MODULES, TREE_SYS, TREE_BUILTINS, False)
        for part in (pre, end, *every):
            tree_check(part, pre, set(names))
    except No as why:
        out["tree"] = str(why)
    try:
        joint(names, parts, pre, end, every, PURE_MODULES, PURE_SYS, PURE_BUILTINS, True)
        text_io = any(TEXT_IO.search(part.text) for part in (pre, end, *every))
        bytes_io = any(BYTES_IO.search(part.text) for part in (pre, end, *every))
        if bytes_io and any(re.search(r"\binput\b|stdin(?!\s*\.\s*buffer)", strip_imports(part.text)) for part in (pre, end, *every)):
            raise No("stdin as text and as bytes")
        if any(re.search(r"stdout\s*\.\s*(?!write\b|flush\b|writelines\b)|stdin\s*\.\s*(?!read\b|readline\b|readlines\b|buffer\b)",
                         part.text) for part in (pre, end, *every)):
            raise No("an unusual use of stdin or stdout")
        if any(re.search(r"buffer\s*\.\s*(?!read\b|readline\b|readlines\b)", part.text) for part in (pre, end, *every)):
            raise No("an unusual use of a buffer")
        if any(re.search(r"(?<!\w)(stdin|stdout|buffer)\s*(=(?!=)|\)|,|\]|$)", strip_imports(part.text), re.M)
               and not re.search(r"(file\s*=|in|map\(.*,|list\(|iter\(|enumerate\()\s*(sys\.)?(stdin|stdout|stderr)", part.text)
               for part in (pre, end, *every)):
            raise No("stdin or stdout that is passed on")
        out["bytes"] = bytes_io
        for part in (pre, end, *every):
            TrieCheck(part, pre, set(names)).visit(part.tree)
    except No as why:
        out["trie"] = str(why)
    return out


def strip_imports(text):
    return re.sub(r"^\s*(from|import)\b.*$", "", text, flags=re.M)


def outside_functions(top, wanted):
    """Is `wanted` below `top`, but in no function?"""
    todo = [top]
    while todo:
        node = todo.pop()
        if node is wanted:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
    return False


def joint(names, parts, pre, end, every, modules, sys_names, allowed, trie):
    """What holds for all programs at once: who binds which global name. Raises No."""
    for part in (pre, end, *every):
        part.binds, part.tables, part.twice = {}, set(), set()
        part.read_top(modules, sys_names, part is end)
        calls_of(part)
        if part.names.changed and (trie or part.names.changed & BUILTINS):
            raise No("a global that is changed")
    declared = set(names)
    if len(declared) != len(names):
        raise No("a name that is declared twice")
    owners = {}  # name -> list of (function index or -1, kind)
    for name, kind in pre.binds.items():
        owners.setdefault(name, []).append((-1, kind))
    for i, row in enumerate(parts):
        for part in row:
            if part is None:
                continue
            if part.binds.get(names[i]) != ("code",) or not any(
                    isinstance(node, ast.FunctionDef) and node.name == names[i] for node in part.tree.body):
                raise No("an implementation that does not define `%s`" % names[i])
            for name, kind in part.binds.items():
                owners.setdefault(name, []).append((i, kind))
    for name, who in owners.items():
        if name in BUILTINS:
            raise No("`%s` is redefined" % name)
        if name in declared and any(i != names.index(name) for i, _ in who):
            raise No("`%s` is defined by another's source" % name)
        if len({i for i, _ in who}) > 1 and (len({kind for _, kind in who}) > 1 or who[0][1] == ("code",)):
            raise No("`%s` is bound by several sources" % name)
    for part in (pre, *every):
        loads = part.names.now - set(part.binds) - set(pre.binds) - BUILTINS - {"__name__"}
        if loads:
            raise No("`%s` is used before it is known" % sorted(loads)[0])
    end_binds = end.names.bound
    if end_binds & (declared | BUILTINS):
        raise No("main binds a name of others")
    for name in end_binds:
        if any(kind[0] != "import" or end.binds.get(name) != kind for _, kind in owners.get(name, [])):
            raise No("main binds `%s`, as others do" % name)
    for i, part in [(-1, pre)] + [(i, part) for i, row in enumerate(parts) for part in row if part] + [(len(names), end)]:
        own = set(part.binds) | (end_binds if part is end else set())
        for name in part.names.now | part.names.later | part.names.changed:
            if name in own or name in declared or name in pre.binds:
                continue
            if name in end_binds:
                raise No("`%s` comes from main" % name)
            if name in owners:
                raise No("`%s` comes from another's source" % name)
            if name in BUILTINS and name not in allowed:
                raise No("`%s`" % name)
            if name.startswith("__") and name not in allowed:
                raise No("`%s`" % name)
    if trie and end.names.changed:
        raise No("a global that is changed")


def prepare(preamble, functions, main, entry):
    """What analyse() says, as marshal, with the engine's share of it as text."""
    out = analyse(preamble, functions, main, entry)
    rows = lambda rows: ";".join(",".join(str(int(item)) for item in row) for row in rows)
    out["reply"] = [out["whole"], out["tree"], out["trie"], rows(out["classes"]), rows(out["bad"])]
    return marshal.dumps(out)
