// SPDX-License-Identifier: Apache-2.0
// Auth: the text formats of registry authentication: challenges (WWW-Authenticate), Basic headers,
// the answers of token servers, and a cache of tokens. Secrets are never in an Error.
//
// How a challenge is answered is in authenticator.h, which also says how to add an auth scheme.
// Source: RFC 9110 chapter 11, distribution's "Token Authentication Specification".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/lru_map.h"

namespace inspection {

struct Challenge {
  std::string scheme;                         // lower case: "bearer", "basic"
  std::map<std::string, std::string> params;  // names in lower case: realm, service, scope, error

  std::string Param(const std::string& name) const;
};

// The challenges of one header value, in order; the list ends where parsing fails. At most 8 with
// 16 parameters each.
std::vector<Challenge> ParseChallenges(std::string_view header);

// "Basic dXNlcjpwYXNz"
std::string BasicAuthorization(std::string_view username, std::string_view password);

struct Token {
  std::string value;
  std::chrono::seconds lifetime{60};
};
// kInvalid without "token" or "access_token". Lifetimes are at least kMinTokenLifetime, also where
// the answer names none, and at most kMaxTokenLifetime.
kube::Result<Token> ParseTokenResponse(std::string_view body);

// Bearer tokens until kTokenExpiryMargin before they expire. The least recently used are dropped
// beyond `capacity` tokens or kMaxBytes: token servers, which pods choose, decide how long a token
// is. Thread: one.
class TokenCache {
 public:
  static constexpr size_t kMaxBytes = 4u << 20;

  TokenCache(kube::Clock& clock, size_t capacity) : clock_(clock), entries_(capacity) {}

  std::optional<std::string> Get(const std::string& key);
  void Put(const std::string& key, Token token);
  void Erase(const std::string& key);
  size_t size() const { return entries_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string token;
    kube::TimePoint expires;
  };

  kube::Clock& clock_;
  kube::LruMap<Entry> entries_;
  size_t bytes_ = 0;
};

}  // namespace inspection
