// SPDX-License-Identifier: Apache-2.0
#include "image-facts/controller/refresh_plan.h"

#include <algorithm>
#include <utility>

#include "image-facts/fact_scope.h"
#include "image-facts/lifetime.h"
#include "inspection/inspector.h"

namespace image_facts {

using kube::TimePoint;

std::string RefreshPlan::KeyOf(const FactName& name) {
  // No name of an image has a space.
  return std::string(name.image) + " " + std::string(name.scope);
}

RefreshPlan::Facts::iterator RefreshPlan::Erase(Facts::iterator at) {
  auto ns = namespaces_.find(at->second.item.ns);
  if (--ns->second.facts == 0) namespaces_.erase(ns);
  return facts_.erase(at);
}

void RefreshPlan::EvictFrom(const std::string& ns) {
  auto oldest = facts_.end();
  for (auto each = facts_.begin(); each != facts_.end(); ++each) {
    if (each->second.item.ns != ns) continue;
    if (oldest == facts_.end() || each->second.hot_until < oldest->second.hot_until) oldest = each;
  }
  Erase(oldest);
}

bool RefreshPlan::Use(const FactName& name, const std::string& ns, bool always_pull,
                      TimePoint now) {
  const auto lifetime = LifetimeOf({name.image, name.scope, always_pull});
  if (!lifetime) return false;
  const RefreshPace& pace = *lifetime < kTagLifetime ? kShortPace : kTagPace;
  std::string key = KeyOf(name);
  if (auto known = facts_.find(key); known != facts_.end()) {
    Fact& fact = known->second;
    const bool is_late = now >= fact.hot_until;
    if (is_late && now >= fact.hot_until + fact.window) {
      fact.pace = &pace;
      fact.window = pace.first;
    } else if (is_late) {
      fact.window = std::min(2 * fact.window, fact.pace->last);
    }
    // The shorter pace, if pods of both kinds use it.
    const bool is_shorter = &pace == &kShortPace && fact.pace != &kShortPace;
    if (is_shorter) {
      fact.pace = &pace;
      fact.window = pace.first;
      fact.hot_until = now;
      fact.due = std::min(fact.due, now + pace.every);
    }
    const bool was_planned = fact.due < fact.hot_until;
    if (is_late) fact.due = now + fact.pace->every;
    fact.hot_until = std::max(fact.hot_until, now + fact.window);
    return is_late || is_shorter || !was_planned;
  }
  const size_t secrets = PartsOf(name.scope).pull_secrets.size();
  if (secrets > limits_.secrets) return false;
  auto own = namespaces_.find(ns);
  if (own != namespaces_.end() && own->second.facts >= limits_.namespace_facts) EvictFrom(ns);
  if (facts_.size() >= limits_.facts) {
    auto most = std::max_element(
        namespaces_.begin(), namespaces_.end(),
        [](const auto& a, const auto& b) { return a.second.facts < b.second.facts; });
    EvictFrom(std::string(most->first));
  }
  Fact fact{
      .item = {std::string(name.image), std::string(name.scope), ns},
      .registry = inspection::RegistryOf(std::string(name.image)),
      .pause = std::max(limits_.interval, static_cast<int64_t>(secrets) * limits_.secret_interval),
      .pace = &pace,
      .window = pace.first,
      .hot_until = now + pace.first,
      .due = now + pace.every};
  facts_.emplace(std::move(key), std::move(fact));
  ++namespaces_[ns].facts;
  return true;
}

void RefreshPlan::Read(const FactName& name, TimePoint now) {
  auto known = facts_.find(KeyOf(name));
  if (known != facts_.end()) known->second.due = now + known->second.pace->every;
}

void RefreshPlan::Clear() {
  facts_.clear();
  namespaces_.clear();
  registries_.clear();
}

TimePoint RefreshPlan::TurnOf(const Fact& fact) const {
  auto registry = registries_.find(fact.registry);
  const TimePoint turn = registry == registries_.end() ? TimePoint() : registry->second;
  return std::max({fact.due, turn, next_turn_});
}

std::optional<TimePoint> RefreshPlan::NextDue() const {
  std::optional<TimePoint> next;
  for (const auto& [key, fact] : facts_) {
    const TimePoint turn = TurnOf(fact);
    if (turn < fact.hot_until) next = std::min(next.value_or(turn), turn);
  }
  return next;
}

std::optional<RefreshPlan::Item> RefreshPlan::TakeDue(TimePoint now) {
  std::erase_if(registries_, [&](const auto& registry) { return registry.second <= now; });
  auto first = facts_.end();
  TimePoint first_turn;
  for (auto each = facts_.begin(); each != facts_.end();) {
    const Fact& fact = each->second;
    if (now >= fact.hot_until + fact.window) {
      each = Erase(each);
      continue;
    }
    if (now < fact.hot_until && TurnOf(fact) <= now) {
      const TimePoint turn = namespaces_.at(fact.item.ns).turn;
      if (first == facts_.end() ||
          std::pair(turn, fact.due) < std::pair(first_turn, first->second.due)) {
        first = each;
        first_turn = turn;
      }
    }
    ++each;
  }
  if (first == facts_.end()) return std::nullopt;
  Fact& fact = first->second;
  fact.due = now + fact.pace->every;
  namespaces_.at(fact.item.ns).turn = now;
  registries_[fact.registry] = now + limits_.registry_interval;
  next_turn_ = now + fact.pause;
  return fact.item;
}

}  // namespace image_facts
