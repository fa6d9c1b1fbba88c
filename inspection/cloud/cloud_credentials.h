// SPDX-License-Identifier: Apache-2.0
// CloudCredentials: this process's own credentials for the registries of clouds that an
// administrator allows.
//
//   CloudCredentials cloud(clock, registries, exchanges);
//   if (cloud.Matches(host))
//     Result<Credential> credential = co_await cloud.For(host, ns, deadline);
//
// A credential is kept until it expires and renewed before that, or once a registry refuses it; if
// the renewal fails, the old one is used. An exchange runs once at a time. Pods name registries:
// those that only a pattern with '*' matches, and that have had no credential before, wait for each
// other and are limited in number; namespaces take turns. A credential is sent to allowed hosts of
// its scope alone: of ECR these are all accounts of a region, of Artifact Registry all locations,
// of ACR it is one registry. Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "inspection/cloud/cloud_registry.h"
#include "inspection/cloud/token_exchange.h"
#include "inspection/config/credentials.h"
#include "inspection/config/namespace_turns.h"
#include "inspection/config/running_call.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/notifier.h"

namespace inspection {

class CloudCredentials {
 public:
  // Credentials in memory, and failures that are remembered.
  static constexpr size_t kMaxScopes = 256;
  // Exchanges for what has had no credential before: at a time, of these for the pods of one
  // namespace, and begun in a minute.
  static constexpr size_t kMaxNewAtOnce = 4;
  static constexpr size_t kMaxNewNamespace = 2;
  static constexpr int kMaxNewPerMinute = 30;

  // `clock` outlives it.
  CloudCredentials(kube::Clock& clock, CloudRegistries registries, TokenExchanges exchanges);

  // Whether `host`, a registry without a port, is one of a cloud that the administrator allows.
  bool Matches(std::string_view host) const { return registries_.Find(host).has_value(); }
  // For a pod of namespace `ns`. Ends by `deadline`; waits for other exchanges for
  // kExchangeTurnTimeout at most. Errors: those of the exchange; kInvalid if `host` does not match;
  // kDeadlineExceeded, also beyond the limits.
  kube::Async<Credential> For(std::string host, std::string ns, kube::TimePoint deadline);
  // Credential::Identity() of the credential for `host`, which must match, whether it can be had or
  // not.
  std::string IdentityFor(std::string_view host) const;

  // Other ways to the same clouds, such as with other authorities. Credentials are used until they
  // are renewed, which the next use does; failures are forgotten.
  void ReplaceExchanges(TokenExchanges exchanges);

  // `host` has refused `credential`: it is renewed with the next use, but at most every
  // kMinExchangeInterval, as pods name what is refused.
  void Refused(std::string_view host, const Credential& credential);

 private:
  struct Login {
    Credential credential;
    kube::TimePoint issued;
    kube::TimePoint renew_at;
    kube::TimePoint valid_until;
    uint64_t version = 0;  // of the exchanges
  };
  struct Failure {
    kube::Error error;
    kube::TimePoint expires;
  };

  // The login of `scope` while it is valid, else nullptr.
  const Login* ValidLogin(const std::string& scope);
  bool IsNew(const CloudRegistry& registry, const std::string& scope);
  kube::Async<NamespaceTurns::Turn> TakeNew(CloudRegistry registry, std::string scope,
                                            std::string ns, kube::TimePoint deadline);
  kube::Async<Credential> Exchange(std::shared_ptr<TokenExchange> exchange, std::string scope,
                                   CloudRegistry registry, kube::TimePoint deadline);

  kube::Clock& clock_;
  CloudRegistries registries_;
  TokenExchanges exchanges_;
  uint64_t version_ = 0;
  // By scope. An expired login shows that the scope is known.
  kube::LruMap<Login> logins_{kMaxScopes};
  kube::LruMap<Failure> failures_{kMaxScopes};
  std::map<std::string, std::shared_ptr<RunningCall>> running_;
  std::shared_ptr<NamespaceTurns> new_turns_;
  double new_allowance_ = kMaxNewPerMinute;
  kube::TimePoint refilled_;
  kube::Notifier new_changed_;
};

}  // namespace inspection
