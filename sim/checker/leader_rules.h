// SPDX-License-Identifier: Apache-2.0
// LeaderRules: what only a leader writes, no other process writes: neither one that lost its Lease
// nor one that never had it (docs/protocol.md, E2). Of operators and cluster controllers; every
// replica of a shard writes.
//
//   rules.Add(commit, writer);                        // each commit
//   rules.Wrote(commit.version, "pod-1", violations)  // where the recorder knows whose it is
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/checker/facts.h"
#include "sim/checker/violation.h"
#include "sim/checker/writer.h"

namespace sim::checker {

class LeaderRules {
 public:
  // `facts` outlives it.
  explicit LeaderRules(const Facts& facts) : facts_(facts) {}

  void Add(const Commit& commit, const Writer& writer);
  // `process`: its name in holderIdentity of Leases. Once for a commit, before the next one of its
  // ServiceAccount.
  void Wrote(uint64_t version, const std::string& process, Violations& violations);

 private:
  struct Term {
    std::string holder;
    Time since{};
  };

  bool IsOfLeader(const Commit& commit, const Writer& writer) const;
  const Term* TermOf(Program program) const;

  const Facts& facts_;
  // By the name of the Lease; without a holder, there is none.
  std::map<std::string, Term> terms_;
  bool own_namespace_deleted_ = false;
  // The latest commits that only a leader makes, by version.
  struct Written {
    Program program;
    std::string object;
    Time at;
  };
  std::map<uint64_t, Written> written_;
};

}  // namespace sim::checker
