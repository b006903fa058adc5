#include "verify/program_store.hpp"

namespace leap::verify {

ProgramStore::Shared ProgramStore::get(const std::string& key, const std::function<Program()>& make) {
  std::promise<Shared> promise;
  {
    std::unique_lock lock(mutex_);
    const auto [found, fresh] = kept_.try_emplace(key);
    if (!fresh) {
      const auto program = found->second.program;
      lock.unlock();
      return program.get();
    }
    found->second.program = promise.get_future().share();
  }
  Shared made;
  try {
    made = std::make_shared<const Program>(make());
    promise.set_value(made);
  } catch (...) {
    promise.set_exception(std::current_exception());
    settle(key, nullptr);
    throw;
  }
  settle(key, made);
  return made;
}

void ProgramStore::settle(const std::string& key, const Shared& made) {
  std::lock_guard lock(mutex_);
  if (!made || made->unsure) {
    kept_.erase(key);
    return;
  }
  Kept& kept = kept_[key];
  kept.size = key.size() + made->bytes.size() + made->message.size();
  used_ += kept.size;
  order_.push_back(key);
  while (used_ > room_ && order_.size() > 1) {
    const auto oldest = kept_.find(order_.front());
    used_ -= oldest->second.size;
    kept_.erase(oldest);
    order_.pop_front();
  }
}

}  // namespace leap::verify
