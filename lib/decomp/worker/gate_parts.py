# Parts of a program as texts: compiled by themselves, their global names, and what their top level does. Read here, never run.
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
    r"|_getframe|__code__|linecache|co_[a-z]|tb_[a-z]|f_[a-z]+\b|settrace|setprofile|tracemalloc|argv|\0|\f|\ufeff"
    r"|current_frames|faulthandler|stack_size|pickle|__import__|runpy|importlib|getsource|excepthook|(?:import|from)\s+tokenize")
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
