#include "training/batch_wire.hpp"

#include <cstring>
#include <type_traits>

#include "base/error.hpp"

namespace leap::training {
namespace {

/// Applies `each` to every member of an action, or of what is to become one.
template <class A, class F>
void members(A& action, F& each) {
  each(action.prompt);
  each(action.completion);
  each(action.logprobs);
  each(action.ref_logprobs);
  each(action.advantage);
  each(action.temperature);
  each(action.weight);
  each(action.max_tokens);
  each(action.weight_version);
  each(action.truncated);
  each(action.masked);
}
// A new member of Action has to travel too: name it above, and its size here.
static_assert(sizeof(void*) != 8 || sizeof(Action) == 4 * sizeof(std::vector<double>) + 48);

struct Writer {
  std::string bytes;

  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    (*this)(values.size());
    if (!values.empty())
      bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
};

struct Reader {
  std::string_view bytes;

  template <class T>
  void operator()(T& value) {
    take(&value, sizeof value);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    std::size_t size = 0;
    (*this)(size);
    if (size > bytes.size() / sizeof(T)) throw Error("a batch arrived cut short");
    values.resize(size);
    if (size > 0) take(values.data(), size * sizeof(T));
  }

 private:
  void take(void* target, std::size_t size) {
    if (size > bytes.size()) throw Error("a batch arrived cut short");
    std::memcpy(target, bytes.data(), size);
    bytes.remove_prefix(size);
  }
};

}  // namespace

std::string to_bytes(const std::vector<Action>& actions) {
  Writer writer;
  writer(actions.size());
  for (const Action& action : actions) members(action, writer);
  return std::move(writer.bytes);
}

std::vector<Action> from_bytes(std::string_view bytes) {
  Reader reader{bytes};
  std::size_t size = 0;
  reader(size);
  std::vector<Action> actions;
  for (std::size_t i = 0; i < size; ++i) members(actions.emplace_back(), reader);
  return actions;
}

}  // namespace leap::training
