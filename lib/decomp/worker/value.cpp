#include "value.hpp"

#include <cmath>

#include "frames.hpp"

namespace leap::decomp {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::size_t kMaxBytes = 64u << 20;

template <class T>
T get(const std::string& bytes, std::size_t& at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

bool write_int(PyObject* value, std::string& out) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow) {
    out += 'i';
    put(out, small);
    return true;
  }
  const std::size_t bits = _PyLong_NumBits(value);
  const std::size_t size = bits / 8 + 1;
  out += 'l';
  put(out, static_cast<std::uint32_t>(size));
  out.resize(out.size() + size);
  if (_PyLong_AsByteArray(reinterpret_cast<PyLongObject*>(value),
                          reinterpret_cast<unsigned char*>(out.data() + out.size() - size), size, 1, 1) == 0)
    return true;
  PyErr_Clear();
  return false;
}

/// Does a set have the order that it gets when it is filled anew in its order?
bool keeps_order(PyObject* set) {
  const auto* have = reinterpret_cast<PySetObject*>(set);
  PyObject* made = PySet_New(nullptr);
  if (!made) {
    PyErr_Clear();
    return false;
  }
  bool same = true;
  for (Py_ssize_t i = 0; same && i <= have->mask; ++i) {
    PyObject* key = have->table[i].key;
    if (key && have->table[i].hash != -1) same = PySet_Add(made, key) == 0;
  }
  const auto* other = reinterpret_cast<PySetObject*>(made);
  same = same && other->mask == have->mask && other->fill == have->fill && other->used == have->used;
  for (Py_ssize_t i = 0; same && i <= have->mask; ++i) same = have->table[i].key == other->table[i].key;
  PyErr_Clear();
  Py_DECREF(made);
  return same;
}

bool write(PyObject* value, std::string& out, Parts& parts, int depth) {
  if (value == Py_None || value == Py_True || value == Py_False) {
    out += value == Py_None ? 'N' : value == Py_True ? 'T' : 'F';
    return true;
  }
  if (PyLong_CheckExact(value)) return write_int(value, out);
  if (PyUnicode_CheckExact(value)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (!text) {
      PyErr_Clear();
      return false;
    }
    out += 'u';
    put(out, static_cast<std::uint32_t>(size));
    out.append(text, static_cast<std::size_t>(size));
    return true;
  }
  if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AS_DOUBLE(value);
    if (std::isnan(number)) return false;
    out += 'g';
    put(out, number);
    return true;
  }
  if (PyBytes_CheckExact(value)) {
    out += 's';
    put(out, static_cast<std::uint32_t>(PyBytes_GET_SIZE(value)));
    out.append(PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
    return true;
  }
  if (depth > kMaxDepth || out.size() > kMaxBytes) return false;
  if (PyTuple_CheckExact(value)) {
    const Py_ssize_t size = PyTuple_GET_SIZE(value);
    out += '(';
    put(out, static_cast<std::uint32_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i)
      if (!write(PyTuple_GET_ITEM(value, i), out, parts, depth + 1)) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(value) || PySet_CheckExact(value)) {
    if (PySet_CheckExact(value) && !parts.insert(value).second) return false;
    if (PyFrozenSet_CheckExact(value) || !keeps_order(value)) return false;
    out += '<';
    put(out, static_cast<std::uint32_t>(PySet_GET_SIZE(value)));
    PyObject* key;
    Py_hash_t hash;
    Py_ssize_t at = 0;
    while (_PySet_NextEntry(value, &at, &key, &hash))
      if (!write(key, out, parts, depth + 1)) return false;
    return true;
  }
  if (PyList_CheckExact(value)) {
    if (!parts.insert(value).second) return false;
    const Py_ssize_t size = PyList_GET_SIZE(value);
    out += '[';
    put(out, static_cast<std::uint32_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i)
      if (!write(PyList_GET_ITEM(value, i), out, parts, depth + 1)) return false;
    return true;
  }
  if (PyDict_CheckExact(value)) {
    if (!parts.insert(value).second) return false;
    out += '{';
    put(out, static_cast<std::uint32_t>(PyDict_GET_SIZE(value)));
    PyObject *key, *item;
    Py_ssize_t at = 0;
    while (PyDict_Next(value, &at, &key, &item))
      if (!write(key, out, parts, depth + 1) || !write(item, out, parts, depth + 1)) return false;
    return true;
  }
  return false;
}

}  // namespace

bool write_value(PyObject* value, std::string& out, Parts& parts) {
  return write(value, out, parts, 0);
}

PyObject* read_value(const std::string& bytes, std::size_t& at) {
  const char kind = bytes[at++];
  switch (kind) {
    case 'N':
      return Py_NewRef(Py_None);
    case 'T':
      return Py_NewRef(Py_True);
    case 'F':
      return Py_NewRef(Py_False);
    case 'i':
      return PyLong_FromLongLong(get<long long>(bytes, at));
    case 'g':
      return PyFloat_FromDouble(get<double>(bytes, at));
    default:
      break;
  }
  const auto size = static_cast<Py_ssize_t>(get<std::uint32_t>(bytes, at));
  const char* data = bytes.data() + at;
  PyObject* out = nullptr;
  switch (kind) {
    case 'u':
      at += static_cast<std::size_t>(size);
      return PyUnicode_DecodeUTF8(data, size, nullptr);
    case 's':
      at += static_cast<std::size_t>(size);
      return PyBytes_FromStringAndSize(data, size);
    case 'l':
      at += static_cast<std::size_t>(size);
      return _PyLong_FromByteArray(reinterpret_cast<const unsigned char*>(data),
                                   static_cast<std::size_t>(size), 1, 1);
    case '(':
    case '[':
      out = kind == '(' ? PyTuple_New(size) : PyList_New(size);
      for (Py_ssize_t i = 0; out && i < size; ++i) {
        PyObject* item = read_value(bytes, at);
        if (!item)
          Py_CLEAR(out);
        else if (kind == '(')
          PyTuple_SET_ITEM(out, i, item);
        else
          PyList_SET_ITEM(out, i, item);
      }
      return out;
    case '<':
      out = PySet_New(nullptr);
      for (Py_ssize_t i = 0; out && i < size; ++i) {
        PyObject* item = read_value(bytes, at);
        if (!item || PySet_Add(out, item) != 0) Py_CLEAR(out);
        Py_XDECREF(item);
      }
      return out;
    default:
      out = PyDict_New();
      for (Py_ssize_t i = 0; out && i < size; ++i) {
        PyObject* key = read_value(bytes, at);
        PyObject* item = key ? read_value(bytes, at) : nullptr;
        if (!item || PyDict_SetItem(out, key, item) != 0) Py_CLEAR(out);
        Py_XDECREF(key);
        Py_XDECREF(item);
      }
      return out;
  }
}

}  // namespace leap::decomp
