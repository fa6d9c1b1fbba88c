// SPDX-License-Identifier: Apache-2.0
// WorkloadWatch: the workloads whose templates may be changed, from a watch of their kind. Only
// their names are kept: a template is data of a tenant and may be large, so it is read when it is
// the workload's turn. The names are bounded for each namespace and in all; workloads beyond are
// left unchanged, and their pods are placed by their gates as always. Thread: the client's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/codec/codec.h"
#include "kube/types/resource.h"

namespace cluster_controller {

// Workloads that wait.
inline constexpr size_t kMaxWaitingOfNamespace = 500;
inline constexpr size_t kMaxWaiting = 5'000;

template <class Workload>
class WorkloadWatch {
 public:
  // `wanted` says which ones. `changed` is called with each that is wanted, after it changed, and
  // once more when it is no longer wanted or was deleted. `field_selector`: "" for all.
  WorkloadWatch(kube::Client& client, kube::Clock& clock, std::string field_selector,
                std::function<bool(const Workload&)> wanted,
                std::function<void(kube::EventType, const kube::ObjectKey&)> changed)
      : wanted_(std::move(wanted)),
        changed_(std::move(changed)),
        informer_(client, clock, Options(std::move(field_selector))) {
    informer_.OnChange([this](kube::EventType type, const kube::ObjectKey& key) {
      if (type == kube::EventType::kAdded) ++by_namespace_[key.ns];
      if (type == kube::EventType::kDeleted && --by_namespace_[key.ns] == 0)
        by_namespace_.erase(key.ns);
      changed_(type, key);
    });
  }

  // Until cancelled.
  kube::asio::awaitable<void> Run() { return informer_.Run(); }
  void ForEachKey(const std::function<void(const kube::ObjectKey&)>& visit) const {
    informer_.ForEachKey(visit);
  }

 private:
  kube::InformerOptions<Workload> Options(std::string field_selector) {
    kube::InformerOptions<Workload> options;
    options.field_selector = std::move(field_selector);
    options.max_objects = kMaxWaiting;
    options.pack = [this](std::string_view message) { return Pack(message); };
    return options;
  }

  kube::Result<std::optional<std::string>> Pack(std::string_view message) {
    std::optional<std::string> stub;
    Workload workload;
    kube::Result<void> parsed = kube::ParseMessage(message, workload);
    if (!parsed) return parsed.error();
    if (!wanted_(workload)) return stub;
    kube::ObjectKey key = kube::KeyOf(workload);
    auto waiting = by_namespace_.find(key.ns);
    bool full = waiting != by_namespace_.end() && waiting->second >= kMaxWaitingOfNamespace;
    if (full && !informer_.Get(key)) return stub;
    Workload name;
    name.mutable_metadata()->set_namespace_(key.ns);
    name.mutable_metadata()->set_name(key.name);
    stub = name.SerializeAsString();
    return stub;
  }

  std::function<bool(const Workload&)> wanted_;
  std::function<void(kube::EventType, const kube::ObjectKey&)> changed_;
  std::unordered_map<std::string, size_t> by_namespace_;
  kube::Informer<Workload> informer_;
};

}  // namespace cluster_controller
