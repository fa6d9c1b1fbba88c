// SPDX-License-Identifier: Apache-2.0
// WaitingTemplates: the workloads that wait for a decision about their template, by TemplateKey().
// Their number is limited by namespace and in total. A namespace where few wait is never refused,
// so that no tenant's workloads exclude those of another. Thread: one.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/types/resource.h"

namespace templates {

struct WaitingOptions {
  size_t per_namespace = 500;
  size_t total = 5'000;
  // Of each namespace, even beyond `total`.
  size_t always = 10;
};

struct Attempts {
  int failed = 0;
  kube::TimePoint next;
};

class WaitingTemplates {
 public:
  explicit WaitingTemplates(WaitingOptions options = {}) : options_(options) {}

  // nullptr: too many wait.
  Attempts* Add(const kube::ObjectKey& key) {
    auto found = attempts_.find(key);
    if (found != attempts_.end()) return &found->second;
    auto of_namespace = by_namespace_.find(key.ns);
    size_t waiting = of_namespace == by_namespace_.end() ? 0 : of_namespace->second;
    bool full = waiting >= options_.per_namespace || attempts_.size() >= options_.total;
    if (full && waiting >= options_.always) return nullptr;
    ++by_namespace_[key.ns];
    return &attempts_[key];
  }

  void Remove(const kube::ObjectKey& key) {
    if (attempts_.erase(key) == 0) return;
    if (--by_namespace_[key.ns] == 0) by_namespace_.erase(key.ns);
  }

  std::vector<kube::ObjectKey> Keys() const {
    std::vector<kube::ObjectKey> keys;
    keys.reserve(attempts_.size());
    for (const auto& [key, attempts] : attempts_) keys.push_back(key);
    return keys;
  }

  size_t size() const { return attempts_.size(); }

 private:
  WaitingOptions options_;
  std::unordered_map<kube::ObjectKey, Attempts> attempts_;
  std::unordered_map<std::string, size_t> by_namespace_;
};

}  // namespace templates
