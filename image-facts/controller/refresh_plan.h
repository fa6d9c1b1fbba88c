// SPDX-License-Identifier: Apache-2.0
// RefreshPlan: which facts are asked for again in the background, and when, so that a moved tag is
// noticed and no pod waits for it. Pure.
//
//   plan.Use({image, scope}, "team-a", always_pull, now);     // a gated pod has asked
//   plan.Read({image, scope}, now);                           // a registry has answered
//   while (std::optional<RefreshPlan::Item> item = plan.TakeDue(now)) { ... ask ... }
//
// Pods that are placed at their creation are not seen here. So a fact is asked for during a time
// after its last use; then the next pod is gated, which is a use again. Each time that comes soon,
// the time is doubled: an image in constant use costs a gate a few times a day, and one that is
// used once costs its registry a few requests.
//
// Bounds: facts in all and of a namespace; requests a second in all and to a registry. Namespaces
// take turns.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "image-facts/fact_book.h"
#include "kube/base/clock.h"

namespace image_facts {

struct RefreshLimits {
  size_t facts = 2'048;
  size_t namespace_facts = 256;
  kube::Duration registry_interval = std::chrono::seconds(1);
  kube::Duration interval = std::chrono::milliseconds(250);
  // After one that reads pull secrets, for each of them. Facts with more of them are not asked for.
  kube::Duration secret_interval = std::chrono::milliseconds(500);
  size_t secrets = 4;
};

// How often a fact is asked for, and how long after its use, the first time and at most.
struct RefreshPace {
  kube::Duration every;
  kube::Duration first;
  kube::Duration last;
};
// A tag; before a policy takes its image off (policy/hot_images.h).
inline constexpr RefreshPace kTagPace{std::chrono::minutes(7), std::chrono::minutes(20),
                                      std::chrono::hours(12)};
// What counts for a short time: a tag that pods always pull, and all that needs pull secrets.
inline constexpr RefreshPace kShortPace{std::chrono::minutes(1), std::chrono::minutes(5),
                                        std::chrono::hours(1)};

class RefreshPlan {
 public:
  struct Item {
    std::string image;
    std::string scope;
    std::string ns;  // of a pod that uses it
  };

  explicit RefreshPlan(RefreshLimits limits = {}) : limits_(limits) {}

  // Does nothing for a fact that counts without end. Returns: whether NextDue() may be sooner.
  bool Use(const FactName& name, const std::string& ns, bool always_pull, kube::TimePoint now);
  void Read(const FactName& name, kube::TimePoint now);
  void Clear();

  std::optional<Item> TakeDue(kube::TimePoint now);
  // When TakeDue() returns the next one; nullopt: never, without another use.
  std::optional<kube::TimePoint> NextDue() const;

  size_t size() const { return facts_.size(); }

 private:
  struct Fact {
    Item item;
    std::string registry;
    kube::Duration pause;  // after a request
    const RefreshPace* pace;
    kube::Duration window;      // how long after a use
    kube::TimePoint hot_until;  // by the last use
    kube::TimePoint due;
  };
  struct Namespace {
    size_t facts = 0;
    kube::TimePoint turn = {};
  };
  using Facts = std::unordered_map<std::string, Fact>;

  static std::string KeyOf(const FactName& name);
  Facts::iterator Erase(Facts::iterator at);
  // The fact of the namespace whose last use is oldest goes.
  void EvictFrom(const std::string& ns);
  // When the fact may be asked for.
  kube::TimePoint TurnOf(const Fact& fact) const;

  RefreshLimits limits_;
  Facts facts_;
  std::map<std::string, Namespace> namespaces_;        // none is empty
  std::map<std::string, kube::TimePoint> registries_;  // the next turn of each that was asked
  kube::TimePoint next_turn_ = {};
};

}  // namespace image_facts
