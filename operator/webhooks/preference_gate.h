// SPDX-License-Identifier: Apache-2.0
// PreferenceGate: whether the API server adds the cluster gate to new pods of a namespace that
// require an architecture themselves. It does so only where an architecture may be preferred
// (objects/webhook_configurations.h). The operator that leads changes that when the first
// PodPlacementConfig with a preference is announced (config_store.h); the validating webhook waits
// for it before the config is stored, or pods of the next moment would miss the preference.
// Thread: the client's.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/client/client.h"

namespace operator_ {

class PreferenceGate {
 public:
  // API servers apply a changed webhook configuration within this time, as a rule, and a changed
  // policy at their next refresh.
  static constexpr std::chrono::milliseconds kConfigurationApplied{250};
  static constexpr std::chrono::milliseconds kPolicyApplied{1'200};
  // The interval of reads.
  static constexpr std::chrono::milliseconds kReadEvery{100};

  // Both outlive this.
  PreferenceGate(kube::Client& client, kube::Clock& clock);

  // Returns when such pods of `ns` are gated, or no pods at all. Errors: the API server's;
  // kDeadlineExceeded; kCancelled.
  kube::Async<> Await(std::string ns, kube::TimePoint deadline);

 private:
  struct Gating {
    // Where such pods are gated; nullopt: wherever others are.
    std::optional<std::set<std::string>> by_webhook;
    std::optional<std::set<std::string>> by_policy;
    // Whether the mechanism is in force.
    bool webhook = false;
    bool policy = false;
  };
  using Read = std::shared_ptr<const Gating>;

  kube::Async<Read> ReadOnce();

  kube::Client& client_;
  kube::Clock& clock_;
  // Reviews of many namespaces at once share the reads.
  kube::SharedCall<Read> read_;
};

}  // namespace operator_
