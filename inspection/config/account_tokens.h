// SPDX-License-Identifier: Apache-2.0
// AccountTokens: tokens of the service accounts of pods, for credential providers that exchange
// them (CredentialProvider::token). Thread: one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

// The pod that an image is inspected for.
struct PodIdentity {
  std::string ns;
  std::string pod;  // empty: none yet, its credentials are meant
  std::string uid;
  std::string account;                         // the name of its service account; empty for none
  std::vector<std::string> pull_secrets = {};  // their names, in the order of the pod
};
// nullptr where no pod is concerned.
using SharedPodIdentity = std::shared_ptr<const PodIdentity>;

struct ServiceAccount {
  std::string uid;
  std::map<std::string, std::string> annotations;
};

// How long a token is valid: the shortest time that the API server accepts.
inline constexpr std::chrono::seconds kAccountTokenLifetime{600};

class AccountTokens {
 public:
  virtual ~AccountTokens() = default;

  // The service account of `pod`, with its annotations of these keys alone.
  virtual kube::Async<ServiceAccount> Account(PodIdentity pod,
                                              std::vector<std::string> annotation_keys,
                                              kube::TimePoint deadline) = 0;
  // A new token for `audience`, bound to the pod.
  // Errors of both: the API server's, such as kPermissionDenied without the right for it;
  // kDeadlineExceeded.
  virtual kube::Async<std::string> Token(PodIdentity pod, std::string audience,
                                         kube::TimePoint deadline) = 0;
};

}  // namespace inspection
