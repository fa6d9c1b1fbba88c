// SPDX-License-Identifier: Apache-2.0
// Story: what happened to each object of a recording, one line for each commit, for the message of
// a violation.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/checker/commit.h"
#include "sim/checker/facts.h"

namespace e2e {

// "12.345 s, version 17, update by the shard of shop: removes the gate ...; /metadata/labels/..."
std::string StoryLine(const sim::checker::Commit& commit, const sim::checker::Facts& facts);

class Stories {
 public:
  // `facts` outlives it.
  explicit Stories(const sim::checker::Facts& facts) : facts_(facts) {}

  // Keeps a line for a pod or a configuration. Of an object that was deleted and comes again, the
  // earlier story is forgotten.
  void Add(const sim::checker::Commit& commit);
  // Empty for objects of other kinds.
  std::vector<std::string> Of(const sim::checker::Commit& commit) const;
  // Forgets the objects that are deleted.
  void ForgetDeleted();

 private:
  using Id = std::tuple<std::string, std::string, kube::ObjectKey>;  // group, plural, key
  struct Story {
    std::vector<std::string> lines;
    // Lines that are not kept.
    size_t omitted = 0;
    bool deleted = false;
  };

  const sim::checker::Facts& facts_;
  std::map<Id, Story> stories_;
};

}  // namespace e2e
