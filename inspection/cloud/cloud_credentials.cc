// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_credentials.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "inspection/base/timing.h"
#include "kube/base/alarm.h"

namespace inspection {

using kube::Async;
using kube::Error;
using kube::Result;
using std::chrono::seconds;

namespace {

std::string RightsOf(const std::string& scope) { return "cloud " + scope; }

Error NewLimit() {
  return Error::Unavailable("wait for a turn: credentials of at most " +
                            std::to_string(CloudCredentials::kMaxNewAtOnce) +
                            " new registries of clouds are requested at a time, and of " +
                            std::to_string(CloudCredentials::kMaxNewPerMinute) + " in a minute");
}

}  // namespace

CloudCredentials::CloudCredentials(kube::Clock& clock, CloudRegistries registries,
                                   TokenExchanges exchanges)
    : clock_(clock),
      registries_(std::move(registries)),
      exchanges_(std::move(exchanges)),
      refilled_(clock.Now()) {}

void CloudCredentials::ReplaceExchanges(TokenExchanges exchanges) {
  exchanges_ = std::move(exchanges);
  ++version_;
  failures_.Clear();
}

std::string CloudCredentials::IdentityFor(std::string_view host) const {
  std::optional<CloudRegistry> registry = registries_.Find(host);
  if (!registry) return "";
  auto exchange = exchanges_.find(registry->cloud);
  if (exchange == exchanges_.end()) return "";
  Credential credential;
  credential.rights = RightsOf(exchange->second->ScopeOf(*registry));
  return credential.Identity();
}

const CloudCredentials::Login* CloudCredentials::ValidLogin(const std::string& scope) {
  const Login* login = logins_.Find(scope);
  return login != nullptr && clock_.Now() < login->valid_until ? login : nullptr;
}

Async<> CloudCredentials::WaitFor(std::shared_ptr<Running> other, kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  kube::Alarm alarm(clock_, [other] { other->done.NotifyAll(); });
  alarm.Set(executor, deadline);
  while (!other->ended) {
    if (clock_.Now() >= deadline)
      co_return Error::DeadlineExceeded("wait for the request of another image");
    Result<void> waited = co_await other->done.Wait();
    if (!waited) co_return waited.error();
  }
  co_return kube::Ok();
}

// Waits until one more exchange for a new scope may begin. EndNew() ends it.
Async<> CloudCredentials::TakeNew(kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  kube::Alarm alarm(clock_, [this] { new_changed_.NotifyAll(); });
  while (true) {
    kube::TimePoint now = clock_.Now();
    new_allowance_ = std::min<double>(
        kMaxNewPerMinute, new_allowance_ + Minutes(now - refilled_).count() * kMaxNewPerMinute);
    refilled_ = now;
    bool has_place = new_running_ < kMaxNewAtOnce;
    if (has_place && new_allowance_ >= 1) break;
    if (now >= deadline) co_return NewLimit();
    kube::TimePoint wake = deadline;
    if (has_place) {
      auto refill = std::chrono::duration_cast<std::chrono::milliseconds>(
          Minutes((1 - new_allowance_) / kMaxNewPerMinute));
      wake = std::min(deadline, now + refill + std::chrono::milliseconds(1));
    }
    alarm.Set(executor, wake);
    Result<void> waited = co_await new_changed_.Wait();
    if (!waited) co_return waited.error();
  }
  new_allowance_ -= 1;
  ++new_running_;
  co_return kube::Ok();
}

void CloudCredentials::EndNew() {
  --new_running_;
  new_changed_.NotifyAll();
}

Async<Credential> CloudCredentials::For(std::string host, kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  std::optional<CloudRegistry> registry = registries_.Find(host);
  if (!registry) co_return Error::Invalid(host + " is no registry of a cloud");
  auto way = exchanges_.find(registry->cloud);
  if (way == exchanges_.end()) co_return Error::Invalid(host + ": no exchange");
  std::shared_ptr<TokenExchange> exchange = way->second;
  std::string scope = exchange->ScopeOf(*registry);
  kube::TimePoint turn_deadline = std::min(deadline, clock_.Now() + kExchangeTurnTimeout);
  while (true) {
    const Login* login = ValidLogin(scope);
    bool is_new_enough = login != nullptr && clock_.Now() < login->renew_at;
    if (is_new_enough && login->version == version_) co_return login->credential;
    const Failure* failure = failures_.Find(scope);
    bool failed = failure != nullptr && clock_.Now() < failure->expires;
    auto found = running_.find(scope);
    if (!failed && found == running_.end()) break;
    // What is valid is used while another image's request renews it, and if that failed.
    if (login != nullptr) co_return login->credential;
    if (failed) co_return failure->error;
    std::shared_ptr<Running> other = found->second;
    Result<void> waited = co_await WaitFor(std::move(other), turn_deadline);
    if (!waited) co_return waited.error().Prefix("credential of " + scope);
  }
  if (clock_.Now() >= deadline)
    co_return Error::DeadlineExceeded("credential of " + scope + ": no time is left");

  auto own = std::make_shared<Running>();
  running_[scope] = own;
  Result<Credential> credential =
      co_await Exchange(std::move(exchange), scope, *registry, turn_deadline);
  own->ended = true;
  running_.erase(scope);
  own->done.NotifyAll();
  const Login* login = ValidLogin(scope);
  if (!credential && login != nullptr) co_return login->credential;
  co_return credential;
}

Async<Credential> CloudCredentials::Exchange(std::shared_ptr<TokenExchange> exchange,
                                             std::string scope, CloudRegistry registry,
                                             kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  uint64_t version = version_;
  std::string about = "credential of " + scope;
  bool is_new = logins_.Find(scope) == nullptr && !registries_.Names(registry.host);
  if (is_new) {
    Result<void> taken = co_await TakeNew(deadline);
    if (!taken) co_return taken.error().Prefix(about);
  }
  Result<ExchangedLogin> login = co_await exchange->Exchange(std::move(registry));
  if (is_new) EndNew();
  if (!login) {
    Error error = login.error().Prefix(about);
    if (error.code() != kube::Code::kCancelled && version == version_)
      failures_.Put(scope, {error, clock_.Now() + kExchangeFailureLifetime});
    co_return error;
  }
  Credential credential;
  credential.username = std::move(login->username);
  credential.password = std::move(login->password);
  credential.source = scope;
  credential.rights = RightsOf(scope);
  credential.own_host_only = true;
  // However short the lifetime is, an exchange is not repeated at once.
  seconds lifetime = std::max(login->lifetime, 2 * kExchangeExpiryMargin);
  seconds renew_after = lifetime - std::max(kExchangeExpiryMargin, lifetime / 4);
  if (login->renew_after.count() > 0) renew_after = std::min(renew_after, login->renew_after);
  kube::TimePoint now = clock_.Now();
  logins_.Put(scope, {.credential = credential,
                      .renew_at = now + renew_after,
                      .valid_until = now + lifetime - kTokenExpiryMargin,
                      .version = version});
  co_return credential;
}

}  // namespace inspection
