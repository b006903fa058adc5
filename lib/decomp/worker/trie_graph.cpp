#include "trie_graph.hpp"

#include "frames.hpp"

namespace leap::decomp {

void Graph::clear() {
  nodes_.clear();
  groups_.clear();
  results_.clear();
  result_ids_.clear();
  main_ = std::make_unique<Group>();
  main_->roots.resize(1);
}

Root& Graph::root_of(Group& group, int choice) {
  auto& root = group.roots[static_cast<std::size_t>(choice)];
  if (!root) {
    root = std::make_unique<Root>();
    root->group = &group;
    root->choice = choice;
  }
  return *root;
}

Group* Graph::group_of(int function, std::string key, Py_ssize_t position) {
  put(key, position);
  put(key, function);
  const auto [found, fresh] = groups_.emplace(std::move(key), nullptr);
  if (fresh) {
    found->second = std::make_unique<Group>();
    found->second->function = function;
    found->second->arguments = &found->first;
    found->second->position = position;
    found->second->roots.resize(size_of(function));
  }
  return found->second.get();
}

Node* Graph::child(Node& node, std::uint32_t result) {
  for (const auto& [id, kid] : node.by_result)
    if (id == result) return kid;
  node.by_result.emplace_back(result, &nodes_.emplace_back());
  return node.by_result.back().second;
}

Node* Graph::chosen(Node& node, int choice) {
  if (node.by_choice.empty()) node.by_choice.resize(size_of(node.function));
  Node*& kid = node.by_choice[static_cast<std::size_t>(choice)];
  if (!kid) kid = &nodes_.emplace_back();
  return kid;
}

std::uint32_t Graph::intern(Result result) {
  std::string key;
  put(key, result.kind);
  put(key, result.error);
  put(key, result.position);
  put(key, result.value.size());
  key += result.value;
  key += result.out;
  const auto [found, fresh] =
      result_ids_.emplace(std::move(key), static_cast<std::uint32_t>(results_.size()));
  if (fresh) results_.push_back(std::move(result));
  return found->second;
}

}  // namespace leap::decomp
