// SPDX-License-Identifier: Apache-2.0
// TokenExchange: turns this process's identity in a cloud into a login for the cloud's registries.
// One implementation for each cloud: amazon.h, google.h, azure.h. Thread: one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "inspection/cloud/cloud_registry.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

struct ExchangedLogin {
  std::string username;
  std::string password;
  std::chrono::seconds lifetime{0};
  // When a new one is wanted, before the lifetime ends; zero: after three quarters of it.
  std::chrono::seconds renew_after{0};
};

class TokenExchange {
 public:
  virtual ~TokenExchange() = default;

  // "ECR in eu-central-1": one login is for all registries with the same scope.
  virtual std::string ScopeOf(const CloudRegistry& registry) const = 0;
  // A new login, by `deadline`. Errors name the server and its status, and contain no secret.
  virtual kube::Async<ExchangedLogin> Exchange(CloudRegistry registry,
                                               kube::TimePoint deadline) = 0;
};

// Shared with the exchanges that run.
using TokenExchanges = std::map<Cloud, std::shared_ptr<TokenExchange>>;

}  // namespace inspection
