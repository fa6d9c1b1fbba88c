// SPDX-License-Identifier: Apache-2.0
// WorkloadWatch: a watch of workloads that keeps none of them: a template is data of a tenant and
// may be large. Thread: the client's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/codec/codec.h"

namespace templates {

// Larger workloads are left unchanged: each that is decided is held several times, decoded.
inline constexpr size_t kMaxWorkloadBytes = 128u << 10;

template <class Workload>
class WorkloadWatch {
 public:
  using Seen = std::function<void(const Workload&, bool too_large)>;

  // Calls `seen` with each workload that exists, is created or changes; `too_large`: it has more
  // than kMaxWorkloadBytes. `field_selector`: "" for all.
  WorkloadWatch(kube::Client& client, kube::Clock& clock, std::string field_selector, Seen seen)
      : seen_(std::move(seen)), informer_(client, clock, Options(std::move(field_selector))) {}

  // Until cancelled.
  kube::asio::awaitable<void> Run() { return informer_.Run(); }

 private:
  kube::InformerOptions<Workload> Options(std::string field_selector) {
    kube::InformerOptions<Workload> options;
    options.field_selector = std::move(field_selector);
    options.pack = [this](std::string_view message) { return Drop(message); };
    return options;
  }

  kube::Result<std::optional<std::string>> Drop(std::string_view message) {
    std::optional<std::string> nothing;
    Workload workload;
    kube::Result<void> parsed = kube::ParseMessage(message, workload);
    if (!parsed) return parsed.error();
    seen_(workload, message.size() > kMaxWorkloadBytes);
    return nothing;
  }

  Seen seen_;
  kube::Informer<Workload> informer_;
};

}  // namespace templates
