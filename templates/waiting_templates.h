// SPDX-License-Identifier: Apache-2.0
// WaitingTemplates: the workloads that wait for a decision about their template, by TemplateKey().
// LeftOutTemplates: those beyond a limit, until they have an event.
//
// Their number is limited by namespace and in total. A namespace where few wait is never refused,
// so that no tenant's workloads exclude those of another. Thread: one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"

namespace templates {

struct WaitingOptions {
  size_t per_namespace = 500;
  size_t total = 5'000;
  // Of each namespace, even beyond `total`.
  size_t always = 10;
};

template <class Value>
class LimitedByNamespace {
 public:
  explicit LimitedByNamespace(WaitingOptions options = {}) : options_(options) {}

  // nullptr: too many wait.
  Value* Add(const kube::ObjectKey& key) {
    auto found = values_.find(key);
    if (found != values_.end()) return &found->second;
    auto of_namespace = by_namespace_.find(key.ns);
    size_t waiting = of_namespace == by_namespace_.end() ? 0 : of_namespace->second;
    bool full = waiting >= options_.per_namespace || values_.size() >= options_.total;
    if (full && waiting >= options_.always) return nullptr;
    ++by_namespace_[key.ns];
    return &values_[key];
  }

  // The removed value; nullopt if there was none.
  std::optional<Value> Remove(const kube::ObjectKey& key) {
    auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    std::optional<Value> removed = std::move(found->second);
    values_.erase(found);
    if (--by_namespace_[key.ns] == 0) by_namespace_.erase(key.ns);
    return removed;
  }

  std::vector<kube::ObjectKey> Keys() const {
    std::vector<kube::ObjectKey> keys;
    keys.reserve(values_.size());
    for (const auto& [key, value] : values_) keys.push_back(key);
    return keys;
  }

  size_t size() const { return values_.size(); }

 private:
  WaitingOptions options_;
  std::unordered_map<kube::ObjectKey, Value> values_;
  std::unordered_map<std::string, size_t> by_namespace_;
};

struct Attempts {
  int failed = 0;
  kube::TimePoint next;
};
using WaitingTemplates = LimitedByNamespace<Attempts>;

// An event each: few of a namespace, for each list of workloads.
inline constexpr WaitingOptions kLeftOutOptions{.per_namespace = 10, .total = 1'000, .always = 1};

enum class Limit { kSize, kWaiting };

struct LeftOut {
  kube::core::ObjectReference workload;
  Limit limit = Limit::kWaiting;
};
using LeftOutTemplates = LimitedByNamespace<LeftOut>;

}  // namespace templates
