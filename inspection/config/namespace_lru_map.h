// SPDX-License-Identifier: Apache-2.0
// NamespaceLruMap: a map of bounded size, with a bounded share for each namespace. What the owner
// of one namespace adds evicts entries of that namespace, or of the namespace that has the most.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "kube/base/lru_map.h"

namespace inspection {

template <class Value>
class NamespaceLruMap {
 public:
  NamespaceLruMap(size_t total, size_t per_namespace)
      : total_(total), per_namespace_(per_namespace) {}

  // nullptr if absent; valid until the next Put(). Counts as a use.
  Value* Find(const std::string& ns, const std::string& key) {
    auto found = namespaces_.find(ns);
    return found == namespaces_.end() ? nullptr : found->second.Find(key);
  }

  void Put(const std::string& ns, const std::string& key, Value value) {
    auto own = namespaces_.try_emplace(ns, per_namespace_).first;
    size_ -= own->second.size();
    own->second.Put(key, std::move(value));
    size_ += own->second.size();
    if (size_ > total_) EvictOne();
  }

  size_t size() const { return size_; }

 private:
  using Namespaces = std::map<std::string, kube::LruMap<Value>>;

  void EvictOne() {
    auto most = std::max_element(
        namespaces_.begin(), namespaces_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    std::string oldest = most->second.oldest_key();
    most->second.Erase(oldest);
    --size_;
    if (most->second.size() == 0) namespaces_.erase(most);
  }

  size_t total_;
  size_t per_namespace_;
  size_t size_ = 0;
  Namespaces namespaces_;  // none is empty
};

}  // namespace inspection
