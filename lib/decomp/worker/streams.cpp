#include "streams.hpp"

#include <marshal.h>
#include <unistd.h>

#include <cstdlib>

#include "program.hpp"

namespace leap::decomp {
namespace {

// Reading as a TextIOWrapper or BufferedReader over a file does.
const char kStdin[] = R"(
class Reader:
    __slots__ = ("data", "at", "newline", "nothing")
    def __init__(self, data):
        self.fill(data)
    def fill(self, data):
        self.data, self.at = data, 0
        self.newline, self.nothing = ("\n", "") if isinstance(data, str) else (b"\n", b"")
    def read(self, size=-1, /):
        at = self.at
        end = len(self.data) if size is None or size < 0 else min(len(self.data), at + size)
        self.at = max(at, end)
        return self.data[at:end]
    def readline(self, size=-1, /):
        at = self.at
        end = self.data.find(self.newline, at) + 1
        if end == 0:
            end = len(self.data)
        if size is not None and 0 <= size < end - at:
            end = at + size
        self.at = end
        return self.data[at:end]
    def readlines(self, hint=-1, /):
        out, total = [], 0
        while True:
            line = self.readline()
            if not line:
                return out
            out.append(line)
            total += len(line)
            if hint is not None and 0 < hint <= total:
                return out
    def __iter__(self):
        return self
    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

class Holder:
    __slots__ = ("buffer",)

def text(data):
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
)";

PyObject* space = nullptr;
PyObject* reader = nullptr;
PyObject* at_name = nullptr;
void (*tell)(PyObject*) = nullptr;

PyObject* write(PyObject*, PyObject* text) {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "write() argument must be str, not %.100s", Py_TYPE(text)->tp_name);
    return nullptr;
  }
  tell(text);
  return PyLong_FromSsize_t(PyUnicode_GET_LENGTH(text));
}

PyObject* flush(PyObject*, PyObject*) {
  return Py_NewRef(Py_None);
}

PyObject* writelines(PyObject* self, PyObject* lines) {
  PyObject* all = PyObject_GetIter(lines);
  if (!all) return nullptr;
  while (PyObject* line = PyIter_Next(all)) {
    PyObject* done = write(self, line);
    Py_DECREF(line);
    Py_XDECREF(done);
    if (!done) break;
  }
  Py_DECREF(all);
  return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
}

PyMethodDef methods[] = {{"write", write, METH_O, nullptr},
                         {"flush", flush, METH_NOARGS, nullptr},
                         {"writelines", writelines, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

void start_streams(bool bytes, void (*wrote)(PyObject*)) {
  tell = wrote;
  space = own_module("streams", kStdin);
  at_name = PyUnicode_InternFromString("at");
  // The same objects in all tests: parts may have imported them.
  reader = PyObject_CallFunction(PyDict_GetItemString(space, "Reader"), "y", "");
  PyObject* in = reader;
  if (bytes) {
    in = PyObject_CallNoArgs(PyDict_GetItemString(space, "Holder"));
    if (!in || PyObject_SetAttrString(in, "buffer", reader) != 0) _exit(9);
  }
  if (!reader || PySys_SetObject("stdin", in) != 0 || PySys_SetObject("__stdin__", in) != 0) _exit(9);
  static PyTypeObject type = [] {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "_io.TextIOWrapper";
    t.tp_basicsize = sizeof(PyObject);
    t.tp_flags = Py_TPFLAGS_DEFAULT;
    t.tp_methods = methods;
    return t;
  }();
  if (PyType_Ready(&type) != 0) _exit(9);
  PyObject* out = _PyObject_New(&type);
  if (!out || PySys_SetObject("stdout", out) != 0 || PySys_SetObject("__stdout__", out) != 0) _exit(9);
}

void set_stdin(const std::string& content, bool bytes) {
  PyObject* data = PyBytes_FromStringAndSize(content.data(), static_cast<Py_ssize_t>(content.size()));
  if (data && !bytes) {
    PyObject* text = PyObject_CallFunction(PyDict_GetItemString(space, "text"), "N", data);
    data = text;
  }
  PyObject* done = data ? PyObject_CallMethod(reader, "fill", "N", data) : nullptr;
  if (!done) _exit(9);
  Py_DECREF(done);
}

Py_ssize_t stdin_position() {
  if (!reader) return 0;
  PyObject* at = PyObject_GetAttr(reader, at_name);
  const Py_ssize_t out = at ? PyLong_AsSsize_t(at) : 0;
  Py_XDECREF(at);
  return out;
}

void set_stdin_position(Py_ssize_t position) {
  if (!reader) return;
  PyObject* at = PyLong_FromSsize_t(position);
  if (!at || PyObject_SetAttr(reader, at_name, at) != 0) _exit(9);
  Py_DECREF(at);
}

PyObject* read_marshal(const std::string& bytes) {
  return PyMarshal_ReadObjectFromString(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

}  // namespace leap::decomp
