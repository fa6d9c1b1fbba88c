// SPDX-License-Identifier: Apache-2.0
// Authenticator: the Authorization header that a challenge asks for; tokens come from the token
// server it names and are kept until they expire, for one registry, repository and credential each.
// Thread: one.
#pragma once

#include <cstdint>
#include <string>

#include "inspection/config/credentials.h"
#include "inspection/registry/auth.h"
#include "inspection/registry/fetcher.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/http/url.h"

namespace inspection {

struct AuthQuestion {
  // Where the challenge came from.
  Sender registry;
  std::string repository;
  // nullptr: nobody in particular.
  const Credential* credential = nullptr;
  Challenge challenge;
  bool insecure = false;
  kube::TimePoint deadline;
};

class Authenticator {
 public:
  Authenticator(Fetcher& fetcher, kube::Clock& clock, size_t max_tokens)
      : fetcher_(fetcher), tokens_(clock, max_tokens) {}

  // Errors: kUnauthenticated if this credential cannot answer this challenge, or the token server
  // refused it; else as Fetcher::Fetch().
  kube::Async<std::string> Header(AuthQuestion question);
  // A header of ours was refused: its token is of no more use. True if there was one.
  bool Forget(const AuthQuestion& question);

  uint64_t token_requests() const { return token_requests_; }

 private:
  kube::Async<Token> FetchToken(AuthQuestion question);

  Fetcher& fetcher_;
  TokenCache tokens_;
  uint64_t token_requests_ = 0;
};

}  // namespace inspection
