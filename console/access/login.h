// SPDX-License-Identifier: Apache-2.0
// Login: who asks the console, by the bearer token of a request. The console has no rights: with a
// user's token, the API server decides what the answer may contain.
//
// With a secret of its own, the console answers who knows the secret with the credentials of its
// kubeconfig: for a user's own machine. Thread: the client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/http_message.h"
#include "kube/server/token_access.h"
#include "kube/server/token_review.h"

namespace console {

// As the header of oauth2-proxy. The page uses it too: the API server, between the browser and the
// console with `kubectl proxy`, takes the header Authorization for itself.
inline constexpr char kTokenHeader[] = "X-Forwarded-Access-Token";

struct Caller {
  kube::AccessVerdict verdict;
  // For calls of the API server in the caller's name; "" for the client's own credentials.
  std::string authorization;
};

class Login {
 public:
  // `client`: without credentials, or with those that the secret stands for. The references outlive
  // it. `secret`: "" for users' tokens.
  Login(kube::Client& client, kube::Clock& clock, std::string secret);

  // Never fails. The status is 200, 401 without a valid token, 503.
  kube::asio::awaitable<Caller> Find(const kube::HttpCall& call);

 private:
  kube::asio::awaitable<kube::AccessVerdict> Review(std::string token);

  kube::Client& client_;
  std::string secret_;
  kube::TokenAccess access_;
};

// Whose budgets a user shares: those of a namespace's ServiceAccounts are one, as who may create
// one may create many.
std::string OwnerOf(const std::string& user);

}  // namespace console
