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

NamespaceTurns::Limits NewLimits() {
  constexpr size_t kAtOnce = CloudCredentials::kMaxNewAtOnce;
  constexpr size_t kOfNamespace = CloudCredentials::kMaxNewNamespace;
  return {.at_once = kAtOnce,
          .per_namespace = kOfNamespace,
          .about = "wait for a turn: credentials of at most " + std::to_string(kAtOnce) +
                   " new registries of clouds are requested at a time, " +
                   std::to_string(kOfNamespace) + " for the pods of one namespace, and of " +
                   std::to_string(CloudCredentials::kMaxNewPerMinute) + " in a minute"};
}

}  // namespace

CloudCredentials::CloudCredentials(kube::Clock& clock, CloudRegistries registries,
                                   TokenExchanges exchanges)
    : clock_(clock),
      registries_(std::move(registries)),
      exchanges_(std::move(exchanges)),
      new_turns_(std::make_shared<NamespaceTurns>(clock, NewLimits())),
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

bool CloudCredentials::IsNew(const CloudRegistry& registry, const std::string& scope) {
  return logins_.Find(scope) == nullptr && !registries_.Names(registry.host);
}

// Waits until one more exchange for the new `scope` may begin; nullptr if another inspection has
// begun it meanwhile. Those that wait for the allowance hold a turn, so namespaces share the
// allowance too.
Async<NamespaceTurns::Turn> CloudCredentials::TakeNew(CloudRegistry registry, std::string scope,
                                                      std::string ns, kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  Result<NamespaceTurns::Turn> turn = co_await new_turns_->Take(std::move(ns), deadline);
  if (!turn) co_return turn.error();
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  kube::Alarm alarm(clock_, [this] { new_changed_.NotifyAll(); });
  while (true) {
    kube::TimePoint now = clock_.Now();
    new_allowance_ = std::min<double>(
        kMaxNewPerMinute, new_allowance_ + Minutes(now - refilled_).count() * kMaxNewPerMinute);
    refilled_ = now;
    if (running_.contains(scope) || !IsNew(registry, scope)) co_return NamespaceTurns::Turn();
    if (new_allowance_ >= 1) break;
    if (now >= deadline) co_return Error::DeadlineExceeded(NewLimits().about);
    auto refill = std::chrono::duration_cast<std::chrono::milliseconds>(
        Minutes((1 - new_allowance_) / kMaxNewPerMinute));
    alarm.Set(executor, std::min(deadline, now + refill + std::chrono::milliseconds(1)));
    Result<void> waited = co_await new_changed_.Wait();
    if (!waited) co_return waited.error();
  }
  new_allowance_ -= 1;
  co_return turn;
}

void CloudCredentials::Refused(std::string_view host, const Credential& credential) {
  std::optional<CloudRegistry> registry = registries_.Find(host);
  auto exchange = registry ? exchanges_.find(registry->cloud) : exchanges_.end();
  if (exchange == exchanges_.end()) return;
  Login* login = logins_.Find(exchange->second->ScopeOf(*registry));
  // It may have been renewed since.
  if (login == nullptr || login->credential.password != credential.password) return;
  login->renew_at = std::min(login->renew_at, login->issued + kMinExchangeInterval);
}

Async<Credential> CloudCredentials::For(std::string host, std::string ns,
                                        kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  std::optional<CloudRegistry> registry = registries_.Find(host);
  if (!registry) co_return Error::Invalid(host + " is no registry of a cloud");
  auto way = exchanges_.find(registry->cloud);
  if (way == exchanges_.end()) co_return Error::Invalid(host + ": no exchange");
  std::shared_ptr<TokenExchange> exchange = way->second;
  std::string scope = exchange->ScopeOf(*registry);
  kube::TimePoint turn_deadline = std::min(deadline, clock_.Now() + kExchangeTurnTimeout);
  // Taken before others wait for this exchange: otherwise they would wait for the turn of this
  // namespace.
  NamespaceTurns::Turn turn;
  while (true) {
    const Login* login = ValidLogin(scope);
    bool is_new_enough = login != nullptr && clock_.Now() < login->renew_at;
    if (is_new_enough && login->version == version_) co_return login->credential;
    const Failure* failure = failures_.Find(scope);
    bool failed = failure != nullptr && clock_.Now() < failure->expires;
    auto found = running_.find(scope);
    if (!failed && found == running_.end()) {
      if (turn != nullptr || !IsNew(*registry, scope)) break;
      Result<NamespaceTurns::Turn> taken = co_await TakeNew(*registry, scope, ns, turn_deadline);
      if (!taken) co_return taken.error().Prefix("credential of " + scope);
      turn = std::move(*taken);
      continue;
    }
    turn.reset();
    // What is valid is used while another image's request renews it, and if that failed.
    if (login != nullptr) co_return login->credential;
    if (failed) co_return failure->error;
    std::shared_ptr<RunningCall> other = found->second;
    std::string about = "wait for the request of another image";
    Result<void> waited =
        co_await RunningCall::Wait(std::move(other), clock_, turn_deadline, std::move(about));
    if (!waited) co_return waited.error().Prefix("credential of " + scope);
  }
  if (clock_.Now() >= deadline)
    co_return Error::DeadlineExceeded("credential of " + scope + ": no time is left");

  auto own = std::make_shared<RunningCall>();
  running_[scope] = own;
  // Those that wait for the same one.
  new_changed_.NotifyAll();
  Result<Credential> credential =
      co_await Exchange(std::move(exchange), scope, *registry, deadline);
  running_.erase(scope);
  own->End();
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
  Result<ExchangedLogin> login = co_await exchange->Exchange(std::move(registry), deadline);
  kube::TimePoint now = clock_.Now();
  if (login && login->lifetime < kMinLoginLifetime) {
    login = Error::Unavailable("it was issued for less than " +
                               std::to_string(kMinLoginLifetime.count()) + " seconds");
  }
  if (!login) {
    Error error = login.error().Prefix(about);
    // Too little time is a failure of this inspection alone.
    bool is_own = error.code() == kube::Code::kCancelled || now >= deadline;
    if (!is_own && version == version_)
      failures_.Put(scope, {error, now + kExchangeFailureLifetime});
    co_return error;
  }
  Credential credential;
  credential.username = std::move(login->username);
  credential.password = std::move(login->password);
  credential.source = scope;
  credential.rights = RightsOf(scope);
  credential.own_host_only = true;
  credential.holders = Holders::kEveryPod;
  seconds lifetime = login->lifetime;
  seconds renew_after = lifetime - std::max(kExchangeExpiryMargin, lifetime / 4);
  if (login->renew_after.count() > 0) renew_after = std::min(renew_after, login->renew_after);
  logins_.Put(scope, {.credential = credential,
                      .issued = now,
                      .renew_at = now + std::max(renew_after, kMinExchangeInterval),
                      .valid_until = now + lifetime - kTokenExpiryMargin,
                      .version = version});
  co_return credential;
}

}  // namespace inspection
