// SPDX-License-Identifier: Apache-2.0
// Authenticator: makes the Authorization header that a registry's challenge asks for. Tokens come
// from the token server that the challenge names, and are cached until they expire, by registry,
// repository and credential. Thread: one.
//
// To add an auth scheme: add a row to kSchemes in authenticator.cc, which decides the challenge
// that is answered, and a case to Header(). A scheme with a credential of its own also needs a
// field in Credential (inspection/config/credentials.{h,cc}). Tests: registry_client_test.cc, with
// a challenge added to inspection/testing/fake_registry.cc.
#pragma once

#include <optional>
#include <string>

#include "inspection/config/credentials.h"
#include "inspection/registry/auth.h"
#include "inspection/registry/fetcher.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/http/pool.h"
#include "kube/http/url.h"

namespace inspection {

struct AuthRequest {
  // Where the challenge came from.
  Referrer registry;
  std::string repository;
  // nullptr: anonymous.
  const Credential* credential = nullptr;
  Challenge challenge;
  bool insecure = false;
  kube::TimePoint deadline;
};

class Authenticator {
 public:
  Authenticator(Fetcher& fetcher, kube::Clock& clock, size_t max_tokens)
      : fetcher_(fetcher), tokens_(clock, max_tokens) {}

  // The challenge of a 401 answer with the best scheme that is supported; nullopt if there is none.
  static std::optional<Challenge> SelectChallenge(const kube::HttpResponse& response);
  // Whether the scheme of `challenge` has a header for anonymous requests.
  static bool AllowsAnonymous(const Challenge& challenge);

  // Errors: kUnauthenticated if this credential cannot answer this challenge, or the token server
  // refused it; else as Fetcher::Fetch().
  kube::Async<std::string> Header(AuthRequest request);
  // Drops the cached token for `request`, as the registry refused it. True if there was one.
  bool DropToken(const AuthRequest& request);

 private:
  kube::Async<Token> FetchToken(AuthRequest request);

  Fetcher& fetcher_;
  TokenCache tokens_;
};

}  // namespace inspection
