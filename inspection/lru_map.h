// SPDX-License-Identifier: Apache-2.0
// LruMap: a map of bounded size; the entry unused for longest makes room.
#pragma once

#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace inspection {

template <class Value>
class LruMap {
 public:
  explicit LruMap(size_t capacity) : capacity_(capacity) {}

  // nullptr where absent; valid until the next Put() or Erase().
  Value* Find(const std::string& key) {
    auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.end(), order_, found->second);
    return &found->second->second;
  }

  void Put(const std::string& key, Value value) {
    Erase(key);
    if (entries_.size() >= capacity_) Erase(std::string(order_.front().first));
    order_.emplace_back(key, std::move(value));
    entries_[key] = std::prev(order_.end());
  }

  void Erase(const std::string& key) {
    auto found = entries_.find(key);
    if (found == entries_.end()) return;
    order_.erase(found->second);
    entries_.erase(found);
  }

  void Clear() {
    entries_.clear();
    order_.clear();
  }

  size_t size() const { return entries_.size(); }

 private:
  using Order = std::list<std::pair<std::string, Value>>;  // longest unused first

  size_t capacity_;
  Order order_;
  std::unordered_map<std::string, typename Order::iterator> entries_;
};

}  // namespace inspection
