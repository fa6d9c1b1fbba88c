// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/auth.h"

#include <algorithm>

#include "inspection/base/header_value.h"
#include "inspection/base/timing.h"
#include "kube/base/ascii.h"
#include "kube/base/base64.h"
#include "kube/http/field.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

constexpr size_t kMaxHeader = 8192;
constexpr size_t kMaxChallenges = 8;
constexpr size_t kMaxParams = 16;
constexpr size_t kMaxToken = 64u << 10;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ == text_.size(); }
  size_t position() const { return at_; }
  void Rewind(size_t position) { at_ = position; }

  void SkipSpace() {
    while (!AtEnd() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  void SkipSpaceAndCommas() {
    while (!AtEnd() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == ',')) ++at_;
  }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // A token in lower case; empty where there is none.
  std::string Name() { return kube::AsciiLower(Token()); }
  // A token or a quoted string; nullopt for an open quote.
  std::optional<std::string> Value() {
    if (!Take('"')) return Token();
    std::string value;
    while (!AtEnd()) {
      char c = text_[at_++];
      if (c == '"') return value;
      if (c == '\\' && !AtEnd()) c = text_[at_++];
      value += c;
    }
    return std::nullopt;
  }

 private:
  std::string Token() {
    size_t start = at_;
    while (!AtEnd() && kube::IsTokenChar(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string Challenge::Param(const std::string& name) const {
  auto found = params.find(name);
  return found == params.end() ? std::string() : found->second;
}

std::vector<Challenge> ParseChallenges(std::string_view header) {
  std::vector<Challenge> challenges;
  if (header.size() > kMaxHeader) return challenges;
  Scanner scanner(header);
  while (challenges.size() < kMaxChallenges) {
    scanner.SkipSpaceAndCommas();
    Challenge challenge;
    challenge.scheme = scanner.Name();
    if (challenge.scheme.empty()) break;
    // Parameters, up to a name without '=', which is the next scheme.
    while (challenge.params.size() < kMaxParams) {
      scanner.SkipSpaceAndCommas();
      size_t before = scanner.position();
      std::string name = scanner.Name();
      scanner.SkipSpace();
      if (name.empty() || !scanner.Take('=')) {
        scanner.Rewind(before);
        break;
      }
      scanner.SkipSpace();
      std::optional<std::string> value = scanner.Value();
      if (!value) return challenges;
      challenge.params.emplace(std::move(name), std::move(*value));
    }
    challenges.push_back(std::move(challenge));
  }
  return challenges;
}

std::string BasicAuthorization(std::string_view username, std::string_view password) {
  return "Basic " + kube::Base64Encode(std::string(username) + ":" + std::string(password));
}

Result<Token> ParseTokenResponse(std::string_view body) {
  Result<Json> json = kube::ParseJson(body);
  if (!json) return Error::Invalid("the token server's answer is not JSON");
  Token token;
  token.value = kube::StringAt(*json, "token");
  if (token.value.empty()) token.value = kube::StringAt(*json, "access_token");
  if (token.value.empty()) return Error::Invalid("the token server's answer has no token");
  if (token.value.size() > kMaxToken || !FitsIntoHeader(token.value))
    return Error::Invalid("the token server's token is too long or has invalid characters");
  std::chrono::seconds lifetime(
      std::clamp<int64_t>(kube::IntAt(*json, "expires_in"), 0, kMaxTokenLifetime.count()));
  token.lifetime = std::max(lifetime, kMinTokenLifetime);
  return token;
}

std::optional<std::string> TokenCache::Get(const std::string& key) {
  Entry* found = entries_.Find(key);
  if (found == nullptr) return std::nullopt;
  if (clock_.Now() >= found->expires) {
    Erase(key);
    return std::nullopt;
  }
  return found->token;
}

void TokenCache::Put(const std::string& key, Token token) {
  Erase(key);
  bytes_ += key.size() + token.value.size();
  while (entries_.size() > 0 && (entries_.size() >= entries_.capacity() || bytes_ > kMaxBytes))
    Erase(std::string(entries_.oldest_key()));
  kube::TimePoint expires = clock_.Now() + token.lifetime - kTokenExpiryMargin;
  entries_.Put(key, Entry{std::move(token.value), expires});
}

void TokenCache::Erase(const std::string& key) {
  Entry* found = entries_.Find(key);
  if (found == nullptr) return;
  bytes_ -= key.size() + found->token.size();
  entries_.Erase(key);
}

}  // namespace inspection
