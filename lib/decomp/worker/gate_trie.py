# What a part must not do where functions are run on values. Goes on from gate_parts.py.
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
