// SPDX-License-Identifier: Apache-2.0
// History: what the model needs of all earlier commits: the configurations and namespaces by time,
// and the life of each pod that exists.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/checker/configs.h"
#include "sim/checker/timeline.h"
#include "sim/checker/writer.h"

namespace sim::checker {

// A namespace at one time.
struct NamespaceState {
  Json labels = Json::object();
  bool exists = false;
  bool deleting = false;
};

// What happened to a pod since its creation.
struct PodLife {
  std::string uid;
  Time created{};
  uint64_t created_version = 0;
  // The shard, or the cluster controller in its place, has removed the local gate: its work is
  // done. The operator's teardown does not do it, and a label proves nothing, as users copy pods.
  bool local_done = false;
  // It has the write of a pod that waits for the gates of other controllers.
  bool first_decision = false;
  // The required terms that this write has added to.
  std::set<size_t> own_terms;
  // Another client has written the count of failed inspections.
  bool foreign_count = false;
  // Since when it has a gate of the operator without one of another controller.
  Time gated_since{};
  // The latest state.
  JsonRef pod;
};

// A change of a configuration that programs act on: not one of its status.
bool IsEffective(const Commit& commit);

class History {
 public:
  // `facts` outlives it.
  explicit History(const Facts& facts) : facts_(facts) {}

  // To be called with each commit, after it was judged.
  void Add(const Commit& commit, const Writer& writer);

  const Timeline<std::shared_ptr<const ClusterConfig>>& cluster_config() const {
    return cluster_config_;
  }
  // Of a namespace that never had one: nullptr.
  const Timeline<NamespaceConfigs>* ConfigsOf(const std::string& ns) const;
  // By namespace.
  const std::map<std::string, Timeline<NamespaceConfigs>>& configs() const { return configs_; }
  const Timeline<NamespaceState>* NamespaceOf(const std::string& ns) const;
  // The configurations that a decision about a pod may have been made on, the oldest first: those
  // since its creation, and before only what was not announced (docs/decisions/announcements.md).
  std::vector<const NamespaceConfigs*> ConfigsFor(const std::string& ns, const PodLife& life,
                                                  uint64_t to) const;

  // When this generation of a configuration was announced; nullopt: it was not.
  std::optional<Time> AnnouncedAt(const std::string& ns, const std::string& uid,
                                  int64_t generation) const;

  // Whether a configuration with a preference is announced in the namespace, stored or not
  // (docs/protocol.md, N9). Of a namespace without announcements: nullptr.
  const Timeline<bool>* PreferenceAnnouncedIn(const std::string& ns) const;

  // nullptr: no such pod.
  const PodLife* LifeOf(const kube::ObjectKey& pod) const;
  const std::map<kube::ObjectKey, PodLife>& pods() const { return pods_; }

  // Whether a replica of the cluster controller is available, by its Deployment; nullptr: no
  // Deployment was ever seen.
  const Timeline<bool>* controller_available() const {
    return controller_available_.changes().size() > 1 ? &controller_available_ : nullptr;
  }
  // When the last pod of the operator was deleted; Time::max(): it has one, or none was seen.
  Time operator_ended() const { return operator_ended_; }
  // Whether a scheduling policy exists, or existed.
  bool had_policies() const { return had_policies_; }
  // Whether a new term of the cluster controller began between these times.
  bool LeaderChanged(Time from, Time to) const;

 private:
  void AddPod(const Commit& commit, const Writer& writer);
  bool IsOperatorPod(const kube::ObjectKey& pod) const;
  bool HasOperatorPod() const;
  void AddConfig(const Commit& commit);
  void AddLease(const Commit& commit);
  void AddAnnouncements(const Commit& commit);

  const Facts& facts_;
  Timeline<std::shared_ptr<const ClusterConfig>> cluster_config_{
      std::make_shared<const ClusterConfig>()};
  std::map<std::string, Timeline<NamespaceConfigs>> configs_;
  std::map<std::string, Timeline<NamespaceState>> namespaces_;
  std::map<kube::ObjectKey, PodLife> pods_;
  struct Announced {
    int64_t generation = 0;
    Time at{};
  };
  // Namespace -> uid of a config -> the latest generation that was announced.
  std::map<std::string, std::map<std::string, Announced>> announced_;
  std::map<std::string, Timeline<bool>> preference_announced_;  // by namespace
  // The versions of changes of configurations that were not announced.
  std::set<uint64_t> unannounced_;
  Timeline<bool> controller_available_{false};
  Time operator_ended_ = Time::max();
  std::vector<Time> leader_changes_;
  std::string leader_;
  bool had_policies_ = false;
};

}  // namespace sim::checker
