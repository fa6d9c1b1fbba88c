// SPDX-License-Identifier: Apache-2.0
// CloudCredentials: this process's own credentials for the registries of clouds that an
// administrator allows.
//
//   CloudCredentials cloud(clock, registries, exchanges);
//   if (cloud.Matches(host)) Result<Credential> credential = co_await cloud.For(host);
//
// A credential is kept until shortly before it expires, and an exchange runs once at a time. Pods
// name registries: what they name first is limited in number, and does not affect registries that
// have had a credential before. A credential is for exactly one host. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "inspection/cloud/cloud_registry.h"
#include "inspection/cloud/token_exchange.h"
#include "inspection/config/credentials.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/notifier.h"

namespace inspection {

class CloudCredentials {
 public:
  // Credentials in memory, and failures that are remembered.
  static constexpr size_t kMaxScopes = 256;
  // Exchanges for what has had no credential before: at a time, and begun in a minute.
  static constexpr size_t kMaxNewAtOnce = 4;
  static constexpr int kMaxNewPerMinute = 30;

  // `clock` outlives it.
  CloudCredentials(kube::Clock& clock, CloudRegistries registries, TokenExchanges exchanges);

  // Whether `host`, a registry without a port, is one of a cloud that the administrator allows.
  bool Matches(std::string_view host) const { return registries_.Find(host).has_value(); }
  // Errors: those of the exchange; kInvalid if `host` does not match; kThrottled beyond the limits.
  kube::Async<Credential> For(std::string host);

 private:
  struct Login {
    Credential credential;
    kube::TimePoint expires;
  };
  struct Failure {
    kube::Error error;
    kube::TimePoint expires;
  };
  struct Running {
    kube::Notifier done;
    bool ended = false;
  };

  kube::Result<void> TakeNew();
  kube::Async<Credential> Exchange(TokenExchange& exchange, std::string scope,
                                   CloudRegistry registry);

  kube::Clock& clock_;
  CloudRegistries registries_;
  TokenExchanges exchanges_;
  // By scope. An expired login shows that the scope is known.
  kube::LruMap<Login> logins_{kMaxScopes};
  kube::LruMap<Failure> failures_{kMaxScopes};
  std::map<std::string, std::shared_ptr<Running>> running_;
  size_t new_running_ = 0;
  double new_allowance_ = kMaxNewPerMinute;
  kube::TimePoint refilled_;
};

}  // namespace inspection
