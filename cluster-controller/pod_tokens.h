// SPDX-License-Identifier: Apache-2.0
// PodTokens: tokens of the service accounts of pods, from the API server (TokenRequest). The right
// to create them is no part of the installation: see the option service-account-tokens. That right
// has no limit of its own: before tokens are used, and every kLimitInterval, one for an audience
// that nobody names is asked for, and must be denied by the option's policy. Tokens are not kept.
// Thread: the client's.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/config/account_tokens.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/slots.h"
#include "kube/client/client.h"

namespace cluster_controller {

class PodTokens final : public inspection::AccountTokens {
 public:
  // Service accounts that are read at a time: tenants decide how many and how large they are.
  static constexpr size_t kMaxReads = 8;
  // All annotations of an account that a provider asks for, keys and values.
  static constexpr size_t kMaxAnnotationBytes = 16 * 1024;
  static constexpr std::chrono::minutes kLimitInterval{10};
  // The ValidatingAdmissionPolicy of the option.
  static constexpr std::string_view kPolicy = "pod-placement-controller-tokens";
  static constexpr std::string_view kDeniedAudience = "pod-placement.invalid/must-be-denied";

  // `client` and `clock` outlive it.
  PodTokens(kube::Executor executor, kube::Client& client, kube::Clock& clock);

  // AccountTokens
  kube::Async<inspection::ServiceAccount> Account(inspection::PodIdentity pod,
                                                  std::vector<std::string> annotation_keys,
                                                  kube::TimePoint deadline) override;
  kube::Async<std::string> Token(inspection::PodIdentity pod, std::string audience,
                                 kube::TimePoint deadline) override;

 private:
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request, kube::TimePoint deadline);
  kube::Async<std::string> Request(inspection::PodIdentity pod, std::string audience,
                                   kube::TimePoint deadline);
  kube::Async<> CheckLimit(inspection::PodIdentity pod, kube::TimePoint deadline);

  kube::Client& client_;
  kube::Clock& clock_;
  std::shared_ptr<kube::Slots> reads_;
  std::optional<kube::TimePoint> limited_until_;
};

}  // namespace cluster_controller
