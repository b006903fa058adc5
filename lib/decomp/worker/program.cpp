#include "program.hpp"

#include <marshal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "frames.hpp"

namespace leap::decomp {
namespace {

constexpr int kMaxDepth = 400;
constexpr long kMaxNodes = 4000000;

PyObject* path_of_program = nullptr;
PyObject* loader_of_program = nullptr;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  if (PyErr_Occurred()) PyErr_Print();
  _exit(3);
}

std::string bytes_of(PyObject* dict, const char* name) {
  PyObject* value = PyDict_GetItemString(dict, name);
  if (!value || !PyBytes_Check(value)) return {};
  return {PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value))};
}

/// The code object of its marshal, or of the text where it is "="; or null.
PyObject* code_of(const std::string& bytes, const std::string& text) {
  if (bytes.empty()) return nullptr;
  PyObject* code = bytes == "="
                       ? Py_CompileString(text.c_str(), (work_dir + "/prog.py").c_str(), Py_file_input)
                       : PyMarshal_ReadObjectFromString(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  if (code && !PyCode_Check(code)) Py_CLEAR(code);
  if (!code) PyErr_Clear();
  return code;
}

bool truth(PyObject* dict, const char* name) {
  PyObject* value = PyDict_GetItemString(dict, name);
  return value && PyObject_IsTrue(value) == 1;
}

/// Plain data as marshal, version 2, read by the base types' own means.
class Plain {
 public:
  explicit Plain(std::string& out) : out_(out) {}

  bool write(PyObject* value, int depth) {
    if (value == Py_None) return put_char('N');
    if (value == Py_True) return put_char('T');
    if (value == Py_False) return put_char('F');
    if (PyLong_Check(value)) return write_int(value);
    if (PyFloat_Check(value)) {
      out_ += 'g';
      put(out_, PyFloat_AS_DOUBLE(value));
      return true;
    }
    if (PyUnicode_Check(value)) return write_text(value);
    const bool list = PyList_Check(value), tuple = PyTuple_Check(value);
    if (!list && !tuple && !PyDict_Check(value)) return false;
    if (depth > kMaxDepth || ++nodes_ > kMaxNodes) return false;
    if (list || tuple) {
      const Py_ssize_t size = list ? PyList_GET_SIZE(value) : PyTuple_GET_SIZE(value);
      out_ += '[';
      put(out_, static_cast<std::int32_t>(size));
      for (Py_ssize_t i = 0; i < size; ++i)
        if (!write(list ? PyList_GET_ITEM(value, i) : PyTuple_GET_ITEM(value, i), depth + 1)) return false;
      return true;
    }
    out_ += '{';
    PyObject *key, *item;
    Py_ssize_t at = 0;
    PyObject* seen = PyDict_New();
    bool fine = seen != nullptr;
    while (fine && PyDict_Next(value, &at, &key, &item)) {
      fine = (PyUnicode_Check(key) || (PyLong_Check(key) && !PyBool_Check(key))) && write(key, depth + 1);
      // Keys of subclasses may look the same once they are plain.
      if (fine && !PyUnicode_CheckExact(key) && !PyLong_CheckExact(key)) fine = false;
      fine = fine && write(item, depth + 1);
    }
    Py_XDECREF(seen);
    return fine && put_char('0');
  }

 private:
  bool put_char(char c) {
    out_ += c;
    return true;
  }
  bool write_text(PyObject* value) {
    PyObject* plain = PyUnicode_CheckExact(value) ? Py_NewRef(value) : PyUnicode_FromObject(value);
    PyObject* bytes = plain ? PyUnicode_AsEncodedString(plain, "utf-8", "surrogatepass") : nullptr;
    Py_XDECREF(plain);
    if (!bytes) {
      PyErr_Clear();
      return false;
    }
    out_ += 'u';
    put(out_, static_cast<std::int32_t>(PyBytes_GET_SIZE(bytes)));
    out_.append(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return true;
  }
  bool write_int(PyObject* value) {
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow && small >= INT32_MIN && small <= INT32_MAX) {
      out_ += 'i';
      put(out_, static_cast<std::int32_t>(small));
      return true;
    }
    PyObject* plain =
        PyLong_CheckExact(value) ? Py_NewRef(value) : _PyLong_Copy(reinterpret_cast<PyLongObject*>(value));
    PyObject* bytes = plain ? PyMarshal_WriteObjectToString(plain, 2) : nullptr;
    Py_XDECREF(plain);
    if (!bytes) {
      PyErr_Clear();
      return false;
    }
    out_.append(PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return true;
  }

  std::string& out_;
  long nodes_ = 0;
};

/// What is left to do at the end of a program whose text needs nothing of the interpreter's own end.
int flush_stdout(int status) {
  PyObject* out = PySys_GetObject("stdout");
  if (!out || out == Py_None) return status;
  PyObject* done = PyObject_CallMethod(out, "flush", nullptr);
  if (done) {
    Py_DECREF(done);
    return status;
  }
  PyErr_Clear();
  PyObject* closed = PyObject_GetAttrString(out, "closed");
  const bool is_closed = closed && PyObject_IsTrue(closed) == 1;
  Py_XDECREF(closed);
  PyErr_Clear();
  return is_closed ? status : 120;
}

[[noreturn]] void leave(const Source& source, int status) {
  if (source.final) {
    if (Py_FinalizeEx() < 0) status = 120;
  } else {
    status = flush_stdout(status);
  }
  _exit(status & 0xff);
}

/// The pending exception as the interpreter's main program treats it: its exit status.
int handle_error(const Source& source, Shared& shared) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (PyErr_GivenExceptionMatches(type, PyExc_SystemExit)) {
    const int status = exit_status(value);
    if (source.final) PySys_WriteStderr("%s", "");
    return status;
  }
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError)) shared.flags |= kMemoryError;
  // A hook, or a message that the program's own code makes, may do anything.
  const bool builtin = !(reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (source.final || source.whole || !builtin ||
      PySys_GetObject("excepthook") != PySys_GetObject("__excepthook__")) {
    if (trace) PyException_SetTraceback(value, trace);
    PyErr_Restore(type, value, trace);
    PyErr_PrintEx(0);
  }
  return 1;
}

bool execute(PyObject* code, PyObject* space) {
  PyObject* done = PyEval_EvalCode(code, space, space);
  Py_XDECREF(done);
  return done != nullptr;
}

PyObject* text_of_program(const Source& source, const std::vector<int>& choice) {
  std::string text = source.preamble;
  bool first = text.empty();
  auto add = [&](const std::string& part) {
    if (!first) text += '\n';
    first = false;
    text += part;
  };
  for (std::size_t i = 0; i < choice.size(); ++i) add(source.texts[i][static_cast<std::size_t>(choice[i])]);
  if (!source.main.empty()) add(source.main);
  if (FILE* file = std::fopen((work_dir + "/prog.py").c_str(), "wb")) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  return PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

/// Runs the text's parts, or the whole. False with an exception set.
bool execute_program(const Source& source, const std::vector<int>& choice, PyObject* space, Shared& shared,
                     const std::function<void(PyObject*)>& define) {
  if (!source.whole) {
    if (source.preamble_code && !execute(source.preamble_code, space)) return false;
    if (define) define(space);
    for (std::size_t i = 0; i < choice.size(); ++i)
      if (!execute(source.codes[i][static_cast<std::size_t>(choice[i])], space)) return false;
    return !source.main_code || execute(source.main_code, space);
  }
  PyObject* text = text_of_program(source, choice);
  PyObject* compile = PyDict_GetItemString(PyEval_GetBuiltins(), "compile");
  PyObject* code =
      text ? PyObject_CallFunction(compile, "OOsii", text, path_of_program, "exec", 0, 1) : nullptr;
  Py_XDECREF(text);
  if (!code) {
    if (PyErr_ExceptionMatches(PyExc_SyntaxError) || PyErr_ExceptionMatches(PyExc_ValueError))
      shared.flags |= kSyntaxError;
    return false;
  }
  return execute(code, space);
}

}  // namespace

std::string work_dir = "/tmp";

void Source::clear() {
  Py_CLEAR(preamble_code);
  Py_CLEAR(main_code);
  for (auto& row : codes)
    for (PyObject*& code : row) Py_CLEAR(code);
  *this = Source{};
}

void start_python() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.write_bytecode = 0;
  PyConfig_SetString(&config, &config.program_name, L"/usr/bin/python3");
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) die(status.err_msg ? status.err_msg : "python does not start");
  path_of_program = PyUnicode_FromString((work_dir + "/prog.py").c_str());
  PyObject* machinery = PyImport_ImportModule("importlib.machinery");
  loader_of_program =
      machinery ? PyObject_CallMethod(machinery, "SourceFileLoader", "sO", "__main__", path_of_program)
                : nullptr;
  Py_XDECREF(machinery);
  PyObject* path = PySys_GetObject("path");
  PyObject* here = PyUnicode_FromString(work_dir.c_str());
  if (!loader_of_program || !path || PyList_Insert(path, 0, here) != 0) die("python does not start");
  Py_DECREF(here);
  PyObject* argv = Py_BuildValue("[O]", path_of_program);
  if (!argv || PySys_SetObject("argv", argv) != 0) die("python does not start");
  Py_DECREF(argv);
}

PyObject* own_module(const char* name, const char* source) {
  PyObject* space = PyDict_New();
  PyObject* own_name = PyUnicode_FromString(name);
  PyDict_SetItemString(space, "__name__", own_name);
  PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins());
  Py_DECREF(own_name);
  PyObject* done = PyRun_String(source, Py_file_input, space, space);
  if (!done) die(name);
  Py_DECREF(done);
  return space;
}

bool load(Source& source, const std::string& prepared, std::vector<std::string>& reply) {
  PyObject* all = PyMarshal_ReadObjectFromString(prepared.data(), static_cast<Py_ssize_t>(prepared.size()));
  if (!all || !PyDict_Check(all)) {
    PyErr_Clear();
    Py_XDECREF(all);
    return false;
  }
  PyObject* whole = PyDict_GetItemString(all, "whole");
  source.whole = !whole || PyObject_IsTrue(whole) != 0;
  source.final = truth(all, "final");
  source.bytes = truth(all, "bytes");
  if (!source.preamble.empty()) source.preamble_code = code_of(bytes_of(all, "preamble"), source.preamble);
  if (!source.main.empty()) source.main_code = code_of(bytes_of(all, "main"), source.main);
  PyObject* rows = PyDict_GetItemString(all, "codes");
  bool fine =
      rows && PyList_Check(rows) && PyList_GET_SIZE(rows) == static_cast<Py_ssize_t>(source.texts.size());
  for (std::size_t i = 0; fine && i < source.texts.size(); ++i) {
    PyObject* row = PyList_GET_ITEM(rows, static_cast<Py_ssize_t>(i));
    fine = PyList_Check(row) && PyList_GET_SIZE(row) == static_cast<Py_ssize_t>(source.texts[i].size());
    source.codes.emplace_back();
    for (std::size_t j = 0; fine && j < source.texts[i].size(); ++j) {
      PyObject* code = PyList_GET_ITEM(row, static_cast<Py_ssize_t>(j));
      source.codes[i].push_back(
          PyBytes_Check(code)
              ? code_of({PyBytes_AS_STRING(code), static_cast<std::size_t>(PyBytes_GET_SIZE(code))},
                        source.texts[i][j])
              : nullptr);
    }
  }
  PyObject* imports = PyDict_GetItemString(all, "imports");
  for (Py_ssize_t i = 0; fine && imports && PyList_Check(imports) && i < PyList_GET_SIZE(imports); ++i) {
    PyObject* module = PyImport_Import(PyList_GET_ITEM(imports, i));
    if (!module) PyErr_Clear();
    Py_XDECREF(module);
  }
  PyObject* words = PyDict_GetItemString(all, "reply");
  fine = fine && words && PyList_Check(words);
  for (Py_ssize_t i = 0; fine && i < PyList_GET_SIZE(words); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(words, i));
    reply.emplace_back(text ? text : "?");
  }
  PyErr_Clear();
  Py_DECREF(all);
  return fine;
}

int exit_status(PyObject* error) {
  PyObject* code = error ? PyObject_GetAttrString(error, "code") : nullptr;
  if (!code) {
    PyErr_Clear();
    return 1;
  }
  int status = 1;
  if (code == Py_None) {
    status = 0;
  } else if (PyLong_Check(code)) {
    status = static_cast<int>(PyLong_AsLong(code)) & 0xff;
    if (PyErr_Occurred()) {
      PyErr_Clear();
      status = 0xff;
    }
  }
  Py_DECREF(code);
  return status;
}

bool plain_marshal(PyObject* value, std::string& out) {
  out.clear();
  return Plain(out).write(value, 0);
}

PyObject* find_entry(PyObject* space, const std::string& name) {
  PyObject* entry = PyDict_GetItemString(space, name.c_str());
  if (entry && PyCallable_Check(entry)) return Py_NewRef(entry);
  PyObject* solution = PyDict_GetItemString(space, "Solution");
  if (!solution) {
    PyErr_SetString(PyExc_NameError, "no entry point");
    return nullptr;
  }
  PyObject* object = PyObject_CallNoArgs(solution);
  if (!object) return nullptr;
  entry = PyObject_GetAttrString(object, name.c_str());
  Py_DECREF(object);
  return entry;
}

void run_program(const Source& source, const std::vector<int>& choice, const Test& test, Shared& shared,
                 int result_fd, const std::function<void(PyObject*)>& define) {
  if (source.final) {
    // At its end the interpreter collects what is frozen here, too.
    PyObject* gc = PyImport_ImportModule("gc");
    PyObject* done = gc ? PyObject_CallMethod(gc, "unfreeze", nullptr) : nullptr;
    Py_XDECREF(done);
    Py_XDECREF(gc);
  }
  PyObject* main = PyImport_AddModule("__main__");
  PyObject* space = main ? PyModule_GetDict(main) : nullptr;
  if (!space) _exit(126);
  if (source.call) {
    // A function of it is called: a module, not the main one, so that its main guard is not run.
    PyObject* name = PyUnicode_FromString("solution");
    PyDict_SetItemString(space, "__name__", name);
    PyDict_SetItem(PyImport_GetModuleDict(), name, main);
    Py_DECREF(name);
  }
  PyDict_SetItemString(space, "__file__", path_of_program);
  PyDict_SetItemString(space, "__loader__", loader_of_program);
  PyDict_SetItemString(space, "__cached__", Py_None);
  if (!execute_program(source, choice, space, shared, define)) leave(source, handle_error(source, shared));
  if (!source.call) leave(source, 0);
  PyObject* entry = find_entry(space, source.entry);
  PyObject* args =
      entry ? PyMarshal_ReadObjectFromString(test.args.data(), static_cast<Py_ssize_t>(test.args.size()))
            : nullptr;
  PyObject* kwargs =
      args ? PyMarshal_ReadObjectFromString(test.kwargs.data(), static_cast<Py_ssize_t>(test.kwargs.size()))
           : nullptr;
  PyObject* tuple = kwargs ? PySequence_Tuple(args) : nullptr;
  PyObject* value = tuple ? PyObject_Call(entry, tuple, kwargs) : nullptr;
  if (!value) leave(source, handle_error(source, shared));
  std::string out;
  if (!plain_marshal(value, out)) out.clear();
  if (write_all(result_fd, out)) shared.flags |= kComplete;
  _exit(0);
}

}  // namespace leap::decomp
