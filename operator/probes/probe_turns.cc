// SPDX-License-Identifier: Apache-2.0
#include "operator/probes/probe_turns.h"

#include <algorithm>

namespace operator_ {

bool ProbeTurns::Follow(const std::string& scope, kube::TimePoint now) {
  auto [entry, added] = scopes_.try_emplace(scope);
  Scope& followed = entry->second;
  if (!added && !followed.paused) return false;
  followed.paused = false;
  followed.failures = 0;
  followed.due = now + timing_.settle;
  return true;
}

void ProbeTurns::Pause(const std::string& scope) {
  auto found = scopes_.find(scope);
  if (found != scopes_.end()) found->second.paused = true;
}

std::optional<std::string> ProbeTurns::Take(kube::TimePoint now) {
  if (last_ && now < *last_ + timing_.pace) return std::nullopt;
  auto of_cluster = scopes_.end();
  auto retry = scopes_.end();
  auto regular = scopes_.end();
  for (auto entry = scopes_.begin(); entry != scopes_.end(); ++entry) {
    const Scope& scope = entry->second;
    if (scope.paused || now < scope.due) continue;
    auto& first = entry->first.empty() ? of_cluster : scope.retries() ? retry : regular;
    if (first == scopes_.end() || scope.due < first->second.due) first = entry;
  }
  bool retry_next = retry != scopes_.end() && (!last_was_retry_ || regular == scopes_.end());
  auto taken = of_cluster != scopes_.end() ? of_cluster : retry_next ? retry : regular;
  if (taken == scopes_.end()) return std::nullopt;
  if (taken != of_cluster) last_was_retry_ = taken == retry;
  last_ = now;
  return taken->first;
}

bool ProbeTurns::Record(const std::string& scope, ProbeResult result, kube::TimePoint now) {
  auto found = scopes_.find(scope);
  if (found == scopes_.end()) return false;
  Scope& probed = found->second;
  const Reach before = probed.reach;
  probed.due = now + timing_.interval;
  if (result == ProbeResult::kArrived) {
    probed.failures = 0;
    probed.reach = Reach::kReached;
  } else if (result == ProbeResult::kNotArrived && !probed.paused) {
    ++probed.failures;
    if (probed.failures >= timing_.failures) probed.reach = Reach::kUnreachable;
    if (probed.retries()) probed.due = now + timing_.retry;
  }
  return probed.reach != before;
}

std::optional<kube::TimePoint> ProbeTurns::Next() const {
  std::optional<kube::TimePoint> next;
  for (const auto& [name, scope] : scopes_) {
    if (!scope.paused && (!next || scope.due < *next)) next = scope.due;
  }
  if (next && last_) next = std::max(*next, *last_ + timing_.pace);
  return next;
}

Reach ProbeTurns::Of(const std::string& scope) const {
  auto found = scopes_.find(scope);
  return found == scopes_.end() ? Reach::kUnknown : found->second.reach;
}

std::vector<std::string> ProbeTurns::Unreachable() const {
  std::vector<std::string> scopes;
  for (const auto& [name, scope] : scopes_) {
    if (scope.reach == Reach::kUnreachable) scopes.push_back(name);
  }
  return scopes;
}

}  // namespace operator_
