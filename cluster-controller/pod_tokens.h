// SPDX-License-Identifier: Apache-2.0
// PodTokens: tokens of the service accounts of pods, from the API server (TokenRequest). The right
// to create them is no part of the installation: see the option service-account-tokens. Tokens are
// not kept. Thread: the client's.
#pragma once

#include <string>
#include <vector>

#include "inspection/config/account_tokens.h"
#include "kube/base/async.h"
#include "kube/client/client.h"

namespace cluster_controller {

class PodTokens final : public inspection::AccountTokens {
 public:
  // `client` outlives it.
  explicit PodTokens(kube::Client& client) : client_(client) {}

  // AccountTokens
  kube::Async<inspection::ServiceAccount> Account(
      inspection::PodIdentity pod, std::vector<std::string> annotation_keys) override;
  kube::Async<std::string> Token(inspection::PodIdentity pod, std::string audience) override;

 private:
  kube::Client& client_;
};

}  // namespace cluster_controller
