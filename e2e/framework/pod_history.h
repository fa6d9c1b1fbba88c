// SPDX-License-Identifier: Apache-2.0
// PodHistory: every state of a pod that the API server sent, from creation to deletion, with its
// gates, preferences and requirement.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "e2e/framework/follower.h"

namespace e2e {

using kube::Json;

struct PodEvent {
  std::string type;  // ADDED, MODIFIED, DELETED
  Json pod;
  std::chrono::steady_clock::time_point seen;
};

struct PodHistory {
  std::string name;
  std::vector<PodEvent> events;  // never empty

  const Json& last() const { return events.back().pod; }
  bool deleted() const { return events.back().type == "DELETED"; }
};

// The pods of one namespace. Run() must have synced before the first pod is created.
class PodWatcher {
 public:
  PodWatcher(kube::Client& client, kube::Clock& clock, std::string ns);

  boost::asio::awaitable<void> Run() { return follower_.Run(); }
  bool synced() const { return follower_.synced(); }
  int gaps() const { return follower_.gaps(); }

  // The newest pod with that name, nullptr if none was seen.
  const PodHistory* Find(const std::string& name) const;
  // One history per uid, in order of the first event.
  std::vector<const PodHistory*> All() const;

 private:
  void Record(const std::string& type, const Json& pod);

  Follower follower_;
  std::map<std::string, PodHistory> by_uid_;
  std::vector<std::string> uids_;  // in order of appearance
};

// --- Fields of a pod
bool HasGate(const Json& pod, std::string_view gate);
bool IsGated(const Json& pod);
// A pod of the operator's own programs.
bool IsOperand(const Json& pod);
bool HasLabel(const Json& object, const std::string& key, const std::string& value);
std::string LabelOf(const Json& object, const std::string& key);
std::string AnnotationOf(const Json& object, const std::string& key);
std::string NodeOf(const Json& pod);
// architecture -> weight, of every preferred term that names architectures.
std::map<std::string, int> PreferencesOf(const Json& pod);
// The architectures of each required term; empty for a term without the architecture label.
std::vector<std::vector<std::string>> RequirementsOf(const Json& pod);
// "KEY=VALUE:EFFECT" of each toleration of one value.
std::vector<std::string> TolerationsOf(const Json& pod);
// The fields that the operator may set, except the gates: affinity, tolerations, and labels and
// annotations of its API group.
Json OperatorFieldsIn(const Json& pod);

}  // namespace e2e
