# The same as split_python.py for C++, read by libclang (only its run-time library is needed, and g++'s headers).
import ctypes as ct
import glob
import json
import re

LIBRARIES = ["libclang-%d.so.%s" % (v, s) for v in range(14, 22) for s in ("1", "%d" % v)] + ["libclang.so.1"]
ARGUMENTS = ["-x", "c++", "-std=gnu++17", "-fparse-all-comments", "-ferror-limit=1", "-w"]
FUNCTION, TEMPLATE, COMPOUND, LINKAGE = 8, 30, 202, 23
HEADER = "/tmp/all.pch" if CONTAINED else os.path.join(WORK_DIR, "all.pch")


class String(ct.Structure):
    _fields_ = [("data", ct.c_void_p), ("flags", ct.c_uint)]


class Cursor(ct.Structure):
    _fields_ = [("kind", ct.c_int), ("xdata", ct.c_int), ("data", ct.c_void_p * 3)]


class Location(ct.Structure):
    _fields_ = [("data", ct.c_void_p * 2), ("number", ct.c_uint)]


class Range(ct.Structure):
    _fields_ = [("data", ct.c_void_p * 2), ("begin", ct.c_uint), ("end", ct.c_uint)]


class Unsaved(ct.Structure):
    _fields_ = [("name", ct.c_char_p), ("text", ct.c_char_p), ("size", ct.c_ulong)]


VISITOR = ct.CFUNCTYPE(ct.c_int, Cursor, Cursor, ct.c_void_p)


def load():
    for name in LIBRARIES:
        try:
            lib = ct.CDLL(name)
        except OSError:
            continue
        pointer, number = ct.c_void_p, ct.c_uint
        for function, result, arguments in (
            ("createIndex", pointer, [ct.c_int, ct.c_int]),
            ("parseTranslationUnit2", ct.c_int, [pointer, ct.c_char_p, ct.POINTER(ct.c_char_p), ct.c_int,
                                                 ct.POINTER(Unsaved), number, number, ct.POINTER(pointer)]),
            ("saveTranslationUnit", ct.c_int, [pointer, ct.c_char_p, number]),
            ("getNumDiagnostics", number, [pointer]),
            ("getDiagnostic", pointer, [pointer, number]),
            ("getDiagnosticSeverity", ct.c_int, [pointer]),
            ("getDiagnosticSpelling", String, [pointer]),
            ("getDiagnosticLocation", Location, [pointer]),
            ("getTranslationUnitCursor", Cursor, [pointer]),
            ("visitChildren", number, [Cursor, VISITOR, pointer]),
            ("getCursorSpelling", String, [Cursor]),
            ("getCursorLocation", Location, [Cursor]),
            ("getCursorExtent", Range, [Cursor]),
            ("getRangeStart", Location, [Range]),
            ("getRangeEnd", Location, [Range]),
            ("getFileLocation", None, [Location, pointer, ct.POINTER(number), pointer, ct.POINTER(number)]),
            ("Location_isFromMainFile", ct.c_int, [Location]),
            ("isCursorDefinition", number, [Cursor]),
            ("Cursor_getRawCommentText", String, [Cursor]),
            ("getCString", ct.c_char_p, [String]),
            ("disposeString", None, [String]),
        ):
            call = getattr(lib, "clang_" + function)
            call.restype, call.argtypes = result, arguments
        return lib
    return None


def text_of(string):
    value = lib.clang_getCString(string)
    out = (value or b"").decode("utf-8", "replace")
    lib.clang_disposeString(string)
    return out


def place(location):
    """(line, offset in bytes)"""
    line, offset = ct.c_uint(), ct.c_uint()
    lib.clang_getFileLocation(location, None, ct.byref(line), None, ct.byref(offset))
    return line.value, offset.value


class Invalid(Exception):
    def __init__(self, line, message):
        super().__init__("line %d: %s" % (line, message))


def translation(code, more, options=0):
    source = Unsaved(b"code.cpp", code, len(code))
    arguments = [a.encode() for a in ARGUMENTS + more]
    unit = ct.c_void_p()
    failed = lib.clang_parseTranslationUnit2(index, b"code.cpp", (ct.c_char_p * len(arguments))(*arguments),
                                             len(arguments), ct.byref(source), 1, options, ct.byref(unit))
    if failed:
        raise Invalid(1, "cannot be read")
    return unit


def children(cursor):
    out = []

    def visit(child, parent, data):
        out.append(Cursor(child.kind, child.xdata, child.data))
        return 1

    lib.clang_visitChildren(cursor, VISITOR(visit), None)
    return out


class Function:
    def __init__(self, code, cursor):
        self.name = text_of(lib.clang_getCursorSpelling(cursor))
        self.line = place(lib.clang_getCursorLocation(cursor))[0]
        extent = lib.clang_getCursorExtent(cursor)
        self.begin = place(lib.clang_getRangeStart(extent))[1]
        self.end = place(lib.clang_getRangeEnd(extent))[1]
        body = [c for c in children(cursor) if c.kind == COMPOUND]
        self.defined = bool(lib.clang_isCursorDefinition(cursor))
        head_end = self.end
        if body:
            head_end = place(lib.clang_getRangeStart(lib.clang_getCursorExtent(body[0])))[1]
        self.head_end = head_end
        self.signature = " ".join(code[self.begin:head_end].decode("utf-8", "replace").split())
        self.doc = plain_comment(text_of(lib.clang_Cursor_getRawCommentText(cursor)))
        if not self.defined:  # with its semicolon
            rest = re.match(rb"\s*;", code[self.end:])
            self.end += rest.end() if rest else 0


def plain_comment(raw):
    lines = []
    for line in raw.replace("/**", "/*").split("\n"):
        line = re.sub(r"^\s*(///?<?|//!<?|/\*+<?|\*(?!/))? ?", "", line)
        lines.append(re.sub(r"\s*\*+/\s*$", "", line).rstrip())
    return "\n".join(lines).strip()


def functions_in(code, everything=True):
    """The functions at the top level; Invalid at the first error."""
    more = []
    if everything and HEADER_BYTES and b"#include" in code:
        with open(HEADER, "wb") as file:
            file.write(HEADER_BYTES)
        more = ["-include-pch", HEADER]
    unit = translation(code, BUILTIN + more)
    for number in range(lib.clang_getNumDiagnostics(unit)):
        diagnostic = lib.clang_getDiagnostic(unit, number)
        if lib.clang_getDiagnosticSeverity(diagnostic) >= 3:
            location = lib.clang_getDiagnosticLocation(diagnostic)
            line = place(location)[0] if lib.clang_Location_isFromMainFile(location) else 1
            raise Invalid(line or 1, text_of(lib.clang_getDiagnosticSpelling(diagnostic)))
    found = []

    def collect(cursor):
        for child in children(cursor):
            if child.kind == LINKAGE:
                collect(child)
            elif child.kind in (FUNCTION, TEMPLATE) and lib.clang_Location_isFromMainFile(
                    lib.clang_getCursorLocation(child)):
                found.append(Function(code, child))

    collect(lib.clang_getTranslationUnitCursor(unit))
    return found


def names_mentioned(doc):
    found = set(re.findall(r"`(\w+)[`(]|\b(\w+)\(", doc))
    out = {a or b for a, b in found}
    for line in re.findall(r"(?im)^\s*calls\s*:(.*)$", doc):
        out.update(re.findall(r"\w+", line))
    return out


def circle(functions):
    calls = {f["name"]: [c for c in f["calls"] if c != f["name"]] for f in functions}
    for start in calls:
        path, todo = {start: None}, [start]
        while todo:
            name = todo.pop()
            for other in calls[name]:
                if other == start:
                    out = [name]
                    while path[out[-1]] is not None:
                        out.append(path[out[-1]])
                    return out[::-1]
                if other not in path:
                    path[other] = name
                    todo.append(other)
    return []


def described(function, names):
    called = names_mentioned(function.doc)
    return {"name": function.name, "signature": function.signature, "doc": function.doc,
            "calls": [name for name in names if name in called]}


def split(request):
    code = request["code"].replace("\r\n", "\n").replace("\r", "\n").encode()
    if not code.strip():
        raise Invalid(1, "the completion holds no code")
    found = functions_in(code)
    defined = {f.name: f for f in found if f.defined}
    stubs = [f for f in found if not f.defined and f.name not in defined]
    for function in found:
        if not function.defined and function.name in defined:
            raise Invalid(defined[function.name].line, "`%s` is declared and defined" % function.name)
    if not stubs:  # all have bodies: what they declare counts, but for main the bodies do not
        stubs = [f for f in found if not (request["stdin"] and f.name == "main")]
        written = code
        for function in reversed(stubs):
            head = written[function.begin:function.head_end].rstrip()
            written = written[:function.begin] + head + b";" + written[function.end:]
        if stubs:
            return split(dict(request, code=written.decode()))
        raise Invalid(1, "no function is declared")
    most = request["max_functions"]
    if len(stubs) > most:
        raise Invalid(stubs[most].line, "%d functions are declared, at most %d may be" % (len(stubs), most))
    names = [f.name for f in stubs]
    for at, function in enumerate(stubs):
        if function.name in names[:at]:
            raise Invalid(function.line, "`%s` is declared twice" % function.name)
        if not function.doc:
            raise Invalid(function.line, "`%s` has no comment above it" % function.name)
    functions = [described(f, names) for f in stubs]
    around = circle(functions)
    if around and not any(re.search(r"(?i)recurs", f["doc"]) for f in functions if f["name"] in around):
        raise Invalid(stubs[names.index(around[0])].line, "%s call each other in a circle; where recursion is meant, a "
                      "comment has to say so" % ", ".join("`%s`" % name for name in around))
    entry = "main" if request["stdin"] else request.get("entry_point") or ""
    if entry and entry not in names and entry not in defined and not re.search(rb"\bSolution\b", code):
        raise Invalid(stubs[-1].line, "no entry point: `%s` is missing" % entry)
    # The declarations stay in the preamble: functions are defined in one order, but call each other in any.
    end = min([f.begin for f in found if f.defined and f.begin > stubs[-1].end] + [len(code)])
    return {"functions": functions, "preamble": code[:end].decode().strip("\n"),
            "main": code[end:].decode().strip("\n"), "error": None}


def group(request):
    groups = {}
    for at, text in enumerate(request["codes"]):
        code = (text or "").replace("\r\n", "\n").replace("\r", "\n").encode()
        try:
            found = functions_in(code)
        except Invalid:
            continue
        own = [f for f in found if f.defined]
        names = [f.name for f in own]
        if not own or len(set(names)) != len(names):
            continue
        rest = bytearray(code)
        for function in found:
            rest[function.begin:function.end] = b" " * (function.end - function.begin)
        lines = bytes(rest).decode().split("\n")
        includes = [line.strip() for line in lines if re.match(r"\s*#\s*include", line)]
        others = [line for line in lines if not re.match(r"\s*#\s*include", line)]
        bare = re.sub(r"//[^\n]*|/\*.*?\*/", " ", "\n".join(others), flags=re.S).split()
        key = (tuple(sorted(f.signature for f in own)), tuple(bare))
        groups.setdefault(key, []).append((at, code, own, includes, others))
    out = []
    for members in groups.values():
        if len(members) < 2:
            continue
        _, _, first, _, others = members[0]
        names = [f.name for f in first]
        includes = list(dict.fromkeys(line for member in members for line in member[3]))
        rest = re.sub(r"\n\s*\n+", "\n", re.sub(r"//[^\n]*|/\*.*?\*/", " ", "\n".join(others), flags=re.S)).strip()
        declared = ["%s;" % f.signature for f in first if f.name != "main"]
        functions = []
        for function in first:
            one = described(function, names)
            one["codes"] = []
            for _, code, own, _, _ in members:
                other = next(f for f in own if f.name == function.name)
                one["codes"].append(code[other.begin:other.end].decode())
            functions.append(one)
        error = None
        if len(names) > request["max_functions"]:
            error = "%d functions are defined, at most %d may be" % (len(names), request["max_functions"])
        out.append({"members": [m[0] for m in members], "functions": functions,
                    "preamble": "\n".join(includes + ([rest] if rest else []) + declared), "main": "", "error": error})
    return out


def answer_to(request):
    if lib is None:
        return {"unavailable": "libclang is missing (Debian: libclang1-14); C++ cannot be split without it"}
    if "codes" in request:
        return group(request)
    try:
        return split(request)
    except Invalid as invalid:
        return {"functions": [], "error": str(invalid)}


os.environ["LIBCLANG_NOTHREADS"] = "1"
lib = load()
HEADER_BYTES = b""
# g++'s own headers stand in for clang's.
BUILTIN = ["-nobuiltininc"] + [a for path in sorted(glob.glob("/usr/lib/gcc/*/*/include"))[-1:]
                               for a in ("-isystem", path)]
if lib is not None:
    index = lib.clang_createIndex(0, 0)
    try:
        header = translation(b"#include <bits/stdc++.h>\n", BUILTIN + ["-xc++-header"], 16)
        if lib.clang_saveTranslationUnit(header, HEADER.encode(), 0) == 0:
            with open(HEADER, "rb") as file:
                HEADER_BYTES = file.read()
        os.unlink(HEADER)
    except (Invalid, OSError):
        pass  # then every program reads the headers itself
