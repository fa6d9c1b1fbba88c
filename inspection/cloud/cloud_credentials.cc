// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_credentials.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "inspection/base/timing.h"

namespace inspection {

using kube::Async;
using kube::Error;
using kube::Result;

CloudCredentials::CloudCredentials(kube::Clock& clock, CloudRegistries registries,
                                   TokenExchanges exchanges)
    : clock_(clock),
      registries_(std::move(registries)),
      exchanges_(std::move(exchanges)),
      refilled_(clock.Now()) {}

Result<void> CloudCredentials::TakeNew() {
  if (new_running_ >= kMaxNewAtOnce) {
    return Error::Throttled("credentials of " + std::to_string(kMaxNewAtOnce) +
                            " new registries of clouds are being requested");
  }
  kube::TimePoint now = clock_.Now();
  double minutes = std::chrono::duration<double, std::ratio<60>>(now - refilled_).count();
  refilled_ = now;
  new_allowance_ = std::min<double>(kMaxNewPerMinute, new_allowance_ + minutes * kMaxNewPerMinute);
  if (new_allowance_ < 1) {
    return Error::Throttled("credentials of more than " + std::to_string(kMaxNewPerMinute) +
                            " new registries of clouds in a minute");
  }
  new_allowance_ -= 1;
  return kube::Ok();
}

Async<Credential> CloudCredentials::For(std::string host) {
  co_await kube::IgnoreCancellation();
  std::optional<CloudRegistry> registry = registries_.Find(host);
  if (!registry) co_return Error::Invalid(host + " is no registry of a cloud");
  auto exchange = exchanges_.find(registry->cloud);
  if (exchange == exchanges_.end()) co_return Error::Invalid(host + ": no exchange");
  std::string scope = exchange->second->ScopeOf(*registry);
  while (true) {
    Login* login = logins_.Find(scope);
    if (login != nullptr && clock_.Now() < login->expires) co_return login->credential;
    Failure* failure = failures_.Find(scope);
    if (failure != nullptr && clock_.Now() < failure->expires) co_return failure->error;
    auto found = running_.find(scope);
    if (found == running_.end()) break;
    std::shared_ptr<Running> other = found->second;
    while (!other->ended) {
      Result<void> waited = co_await other->done.Wait();
      if (!waited) co_return waited.error();
    }
  }

  bool is_new = logins_.Find(scope) == nullptr;
  if (is_new) {
    Result<void> taken = TakeNew();
    if (!taken) co_return taken.error();
    ++new_running_;
  }
  auto own = std::make_shared<Running>();
  running_[scope] = own;
  Result<Credential> credential = co_await Exchange(*exchange->second, scope, *registry);
  if (is_new) --new_running_;
  own->ended = true;
  running_.erase(scope);
  own->done.NotifyAll();
  co_return credential;
}

Async<Credential> CloudCredentials::Exchange(TokenExchange& exchange, std::string scope,
                                             CloudRegistry registry) {
  co_await kube::IgnoreCancellation();
  Result<ExchangedLogin> login = co_await exchange.Exchange(std::move(registry));
  if (!login) {
    Error error = login.error().Prefix("credential of " + scope);
    if (error.code() != kube::Code::kCancelled)
      failures_.Put(scope, {error, clock_.Now() + kExchangeFailureLifetime});
    co_return error;
  }
  Credential credential;
  credential.username = std::move(login->username);
  credential.password = std::move(login->password);
  credential.source = scope;
  credential.rights = "cloud " + scope;
  credential.own_host_only = true;
  // However short the lifetime is, an exchange is not repeated at once.
  std::chrono::seconds lifetime = std::max(login->lifetime, 2 * kExchangeExpiryMargin);
  logins_.Put(scope, {credential, clock_.Now() + lifetime - kExchangeExpiryMargin});
  co_return credential;
}

}  // namespace inspection
