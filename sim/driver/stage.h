// SPDX-License-Identifier: Apache-2.0
// Stage: the cluster that a plan is played in, and what its operations do there: calls of users,
// faults that end, and what the checker is told of all that.
//
//   Stage stage(plan);
//   stage.Create(kube::kPods, pod);
//   stage.Break(30s, [&] { process.Resume(); });
//   stage.world().Pass(1min);
//   stage.Heal();
//
// Thread: the Loop's.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/testing/fake_admission.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "sim/base/process.h"
#include "sim/checker/facts.h"
#include "sim/driver/binder.h"
#include "sim/driver/feed.h"
#include "sim/driver/plan.h"
#include "sim/driver/trace.h"
#include "sim/world/cluster.h"

namespace sim {

class Stage {
 public:
  // The writes that the cluster refuses while it is in force.
  using Refusal = std::function<kube::Result<void>(const kube::AdmissionAttributes&)>;

  // With nodes and images, and the operator's Deployment.
  explicit Stage(const Plan& plan, const Tell& tell = {});
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Cluster& cluster() { return cluster_; }
  World& world() { return cluster_.world(); }
  Feed& feed() { return feed_; }
  checker::Facts& facts() { return facts_; }
  checker::Time now() { return world().loop().now() - Loop::kBegin; }

  // What an image is for from now on; empty: its registry does not have it.
  void SetImage(const std::string& name, const std::set<std::string>& architectures);
  void SetMood(const std::string& host, Registries::Mood mood);

  // Calls of a user, who does not wait for the answer. `then`: nullptr, or called with it.
  using Answer = std::function<void(const kube::Result<kube::ApiResponse>&)>;
  void Call(kube::ApiRequest request, Answer then = nullptr);
  void Create(const kube::Resource& resource, const kube::Json& object, Answer then = nullptr);
  // Creates the object, or replaces its spec.
  void Set(const kube::Resource& resource, kube::Json object);
  void Patch(const kube::Resource& resource, const kube::ObjectKey& key, const kube::Json& patch,
             Answer then = nullptr);
  void Delete(const kube::Resource& resource, const kube::ObjectKey& key);

  // The process number `pick` of those with such a name, modulo their number; nullptr: there is
  // none. `leader`: of its replicas, the one that has the Lease.
  Process* Pick(std::string_view of, size_t pick, bool leader);

  // Something is broken that programs need, until `end` is called after `length`.
  void Break(kube::Duration length, std::function<void()> end);
  // The same for what they can do without.
  void Change(kube::Duration length, std::function<void()> end);
  void Refuse(kube::Duration length, Refusal refusal);
  // Ends all of it.
  void Heal();

  // Operands are replaced one after the other, for some time.
  void NoteUpgrade() { upgraded_ = true; }
  // Deletes the operator's namespace: nothing is calm after it.
  void Uninstall();
  bool is_uninstalled() const { return uninstalled_; }

  // Nothing is broken, and every program runs.
  bool IsCalm() const { return facts_.calm_since != checker::Time::max(); }
  // The Deployments whose pods do not all run.
  std::string DescribeMissing() const;
  // Answers to users: accepted, and refused.
  size_t accepted() const { return accepted_; }
  size_t refused() const { return refused_; }

 private:
  struct Broken {
    std::function<void()> end;
    bool disturbs;
  };

  void Add(kube::Duration length, std::function<void()> end, bool disturbs);
  void End(int id);
  kube::Result<void> Admit(const kube::AdmissionAttributes& asked);
  void Tick();
  bool EveryProgramRuns();

  checker::Facts facts_;
  Feed feed_{facts_};
  Cluster cluster_;
  Binder binder_;
  std::map<int, Broken> broken_;
  std::map<int, Refusal> refusals_;
  int last_id_ = 0;
  bool uninstalled_ = false;
  bool upgraded_ = false;
  // When something was broken last.
  checker::Time disturbed_{};
  // Requests may fail.
  bool faults_told_ = false;
  std::vector<Process*> seen_;
  size_t accepted_ = 0, refused_ = 0;
};

}  // namespace sim
