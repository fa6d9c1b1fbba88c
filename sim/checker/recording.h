// SPDX-License-Identifier: Apache-2.0
// Recording: the commits of a run of real processes, from what an API server tells. Watches say
// what was stored and in which order; the audit log says who wrote it.
//
//   Recording recording;
//   recording.AddWatched("", "pods", "MODIFIED", pod, at);   // each frame of each watch
//   recording.AddAudit(event);                               // each line of the audit log
//   for (const Commit& commit : recording.Commits()) checker.Add(commit);
//
// The audit policy has the level RequestResponse for writes. Versions of one API server ascend over
// all kinds.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/checker/commit.h"

namespace sim::checker {

class Recording {
 public:
  // `type`: ADDED, MODIFIED or DELETED. An object that a watch delivers first need not be new: a
  // watch that began later only says what exists. `at`: when it was received.
  void AddWatched(const std::string& group, const std::string& plural, const std::string& type,
                  Json object, Time at);
  // An Event of audit.k8s.io/v1 as JSON. Reads, failures and dry runs are skipped.
  void AddAudit(const Json& event);

  // In the order of versions. A commit whose writer the audit log does not name has the user "".
  std::vector<Commit> Commits() const;

 private:
  using Id = std::tuple<std::string, std::string, kube::ObjectKey>;  // group, plural, key

  struct Written {
    std::string user, verb, subresource;
    JsonRef sent;
  };

  std::map<uint64_t, Commit> watched_;
  // By the version that the write has made.
  std::map<std::pair<Id, uint64_t>, Written> written_;
  // Deletions have no version in the log.
  std::map<Id, std::vector<Written>> deleted_;
};

}  // namespace sim::checker
