#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

#include "verify/program_store.hpp"

using leap::verify::Program;
using leap::verify::ProgramStore;

namespace {

Program program_of(std::size_t bytes) {
  Program out;
  out.bytes.assign(bytes, 'x');
  return out;
}

/// Runs `work(i)` in that many threads at once.
template <class Work>
void in_threads(int count, const Work& work) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      work(i);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("a program is made once, whoever asks for it", "[verify]") {
  ProgramStore store(1 << 20);
  std::atomic<int> made{0};
  std::vector<ProgramStore::Shared> got(16);
  in_threads(16, [&](int i) {
    got[static_cast<std::size_t>(i)] = store.get("key " + std::to_string(i % 2), [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++made;
      return program_of(10);
    });
  });
  CHECK(made == 2);
  for (std::size_t i = 2; i < got.size(); ++i) CHECK(got[i] == got[i % 2]);
  CHECK(got[0] != got[1]);
}

TEST_CASE("programs are kept as long as there is room, the oldest go first", "[verify]") {
  ProgramStore store(1000);
  int made = 0;
  const auto ask = [&](const std::string& key, std::size_t bytes = 290) {
    const int before = made;
    const auto program = store.get(key, [&] {
      ++made;
      return program_of(bytes);
    });
    CHECK(program->bytes.size() == bytes);
    return made > before;
  };
  for (const char* key : {"a", "b", "c"}) CHECK(ask(key));
  for (const char* key : {"a", "b", "c"}) CHECK_FALSE(ask(key));
  CHECK(ask("d"));
  for (const char* key : {"b", "c", "d"}) CHECK_FALSE(ask(key));
  CHECK(ask("a"));
  // One that is larger than the room is kept until the next one comes.
  CHECK(ask("large", 5000));
  CHECK_FALSE(ask("large", 5000));
  CHECK(ask("b"));
  CHECK(ask("large", 5000));
}

TEST_CASE("what may turn out otherwise is made anew", "[verify]") {
  ProgramStore store(1000);
  int made = 0;
  for (int i = 1; i <= 3; ++i) {
    store.get("slow", [&] {
      ++made;
      Program out = program_of(1);
      out.failed = "compile_timeout";
      out.unsure = true;
      return out;
    });
    CHECK(made == i);
  }
  CHECK(store.get("slow", [] { return program_of(2); })->bytes == "xx");
  CHECK(store.get("slow", [] { return program_of(3); })->bytes == "xx");
}

TEST_CASE("a failure reaches all who wait, and the next one tries again", "[verify]") {
  ProgramStore store(1000);
  std::atomic<int> failed{0}, tried{0};
  in_threads(8, [&](int) {
    try {
      store.get("key", [&]() -> Program {
        ++tried;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        throw std::runtime_error("no compiler");
      });
    } catch (const std::runtime_error& error) {
      if (error.what() == std::string("no compiler")) ++failed;
    }
  });
  CHECK(failed == 8);
  CHECK(tried >= 1);
  CHECK(store.get("key", [] { return program_of(1); })->bytes == "x");
}
