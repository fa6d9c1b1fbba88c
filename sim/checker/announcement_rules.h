// SPDX-License-Identifier: Apache-2.0
// AnnouncementRules: the announcement of a deleted configuration is removed from the Lease of its
// namespace, also if others stay there (docs/protocol.md, N8).
#pragma once

#include <map>
#include <string>

#include "sim/checker/facts.h"
#include "sim/checker/violation.h"

namespace sim::checker {

class AnnouncementRules {
 public:
  // `facts` outlives it.
  explicit AnnouncementRules(const Facts& facts) : facts_(facts) {}

  // Each commit. What is overdue is found by the first commit after its time.
  void Add(const Commit& commit, Violations& violations);

 private:
  struct Announcement {
    // When it was written, and when its configuration was deleted.
    Time written{};
    Time deleted = Time::max();
  };
  // By uid.
  using OfNamespace = std::map<std::string, Announcement>;

  void AddLease(const Commit& commit);
  void Judge(const Commit& commit, Violations& violations);

  const Facts& facts_;
  std::map<std::string, OfNamespace> announced_;
};

}  // namespace sim::checker
