# What a decomposition's sources allow: read here, never run. Says whether parts may be compiled one by one, whether a run
# may fork where it first calls a function (tree), and whether functions may be run on values (trie). Only what is known
# to be harmless passes: a name or statement that is not listed here costs time, never a verdict.
# Goes on from gate_parts.py and gate_trie.py: they are one module.
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
