// SPDX-License-Identifier: Apache-2.0
// Recording: the commits of a run of real processes, from what an API server tells. Watches say
// what was stored and in which order; the audit log says who wrote it.
//
//   Recording recording;
//   recording.AddWatched("", "pods", "MODIFIED", pod, at);   // each frame of each watch
//   recording.AddAudit(event);                               // each line of the audit log
//   for (const Commit& commit : recording.Commits()) checker.Add(commit);
//
// A long run is read in parts: Take() forgets what it returns.
//
// The audit policy has the level RequestResponse for writes. Versions of one API server ascend over
// all kinds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/checker/commit.h"

namespace sim::checker {

class Recording {
 public:
  using Id = std::tuple<std::string, std::string, kube::ObjectKey>;  // group, plural, key

  // `type`: ADDED, MODIFIED, DELETED or LISTED. An object that a watch delivers first need not be
  // new: a watch that began later only says what exists. LISTED: it was in a list; its commit has
  // the verb "list" and no user. `at`: when it was received.
  void AddWatched(const std::string& group, const std::string& plural, const std::string& type,
                  Json object, Time at);
  // An Event of audit.k8s.io/v1 as JSON. Reads, failures and dry runs are skipped. `at`: when the
  // log says that it was written; a watch may deliver it later.
  void AddAudit(const Json& event, std::optional<Time> at = std::nullopt);

  // In the order of versions. A commit whose writer the audit log does not name has the user "".
  std::vector<Commit> Commits() const;
  // The same, and forgets all but the latest state of each object. What arrives later with a lower
  // version is in the next part.
  std::vector<Commit> Take();

  // Writes in the audit log that no watch has delivered. Not those at or before what was taken.
  struct Undelivered {
    Id id;
    uint64_t version = 0;
    std::optional<Time> at;
  };
  std::vector<Undelivered> AwaitedWrites() const;
  // Commits since `since` whose writer the audit log does not name. Not those that it may never
  // name: lists, and objects that are being deleted or that the scheduler has bound.
  std::vector<const Commit*> UnnamedCommits(Time since) const;

 private:
  struct Written {
    std::string user, verb, subresource;
    JsonRef sent;
    std::optional<Time> at;
  };

  void Complete(Commit& commit);

  // By version. Several objects that were gone when a kind was listed have one version.
  std::multimap<uint64_t, Commit> watched_;
  // By the version that the write has made.
  std::map<std::pair<Id, uint64_t>, Written> written_;
  // Deletions have no version in the log.
  std::map<Id, std::vector<Written>> deleted_;
  // The latest states of what was taken.
  std::map<Id, JsonRef> objects_;
  // How many of deleted_ were used.
  std::map<Id, size_t> deletions_;
  uint64_t taken_ = 0;
};

}  // namespace sim::checker
