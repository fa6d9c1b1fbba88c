// SPDX-License-Identifier: Apache-2.0
// Deployments: runs the pods of Deployments as processes, as controllers, scheduler and kubelets do
// together: creates pods, starts and restarts their processes, replaces those of an older template
// one by one, and reports the status of the Deployment.
//
//   Deployments deployments(loop, api_server, store, secret_files, random.Fork(),
//                           [&](const PodPlan& pod) -> Process& { return world.AddProcess(...); });
//   store.Observe([&](const kube::StoreCommit& commit) { deployments.OnCommit(commit); });
//
// Pods are created by calls, which admission may change or refuse. A gated pod does not start, and
// neither does one without its Secrets. Pods belong to the Deployment itself: there are no
// ReplicaSets. Thread: the Loop's.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/store_commit.h"
#include "kube/testing/trusted_calls.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "sim/base/loop.h"
#include "sim/base/process.h"
#include "sim/base/random.h"
#include "sim/cluster/api_server.h"
#include "sim/cluster/deployment_status.h"
#include "sim/cluster/secret_files.h"

namespace sim {

struct PodPlan {
  kube::ObjectKey key;
  std::string deployment;
  kube::Json spec;
};

class Deployments {
 public:
  // Makes the process of a pod, without starting it; it outlives the Deployments.
  using NewProcess = std::function<Process&(const PodPlan&)>;

  // All outlive it.
  Deployments(Loop& loop, ApiServer& server, kube::FakeStore& store, const SecretFiles& files,
              Random random, NewProcess new_process);

  void OnCommit(const kube::StoreCommit& commit);

  // Of the pods that were started and not removed since.
  std::vector<Process*> Processes() const;

 private:
  enum class Phase {
    kCreating,  // the call is under way
    kPending,
    kRunning,
    kStopping,
  };
  struct Pod {
    PodPlan plan;
    std::string template_hash;
    Phase phase = Phase::kCreating;
    // When the next step is due.
    kube::TimePoint due = {};
    Process* process = nullptr;
    bool ready = false;
    int restarts = 0;
  };
  struct Deployment {
    // As it is stored; null once it is deleted.
    std::shared_ptr<const kube::Json> stored;
    std::list<Pod> pods;
    // Why the last pod could not be created, and when it is tried again.
    std::string failure = {};
    kube::TimePoint retry = {};
    // Of `hashed`.
    std::string template_hash = {};
    std::shared_ptr<const kube::Json> hashed = {};
    kube::TimePoint template_since = {};
    // What was reported, and in which object that is.
    DeploymentState state = {};
    std::shared_ptr<const kube::Json> reported = {};
  };

  void Tick();
  void Sync(const kube::ObjectKey& key, Deployment& deployment);
  // The next step of one pod. False once it is removed.
  bool Advance(Pod& pod);
  // Starts or stops pods for the number of replicas.
  void Scale(const kube::ObjectKey& key, Deployment& deployment);
  void Create(const kube::ObjectKey& key, Deployment& deployment);
  void Created(const kube::ObjectKey& key, const kube::ObjectKey& pod,
               const kube::Result<kube::ApiResponse>& answer);
  bool CanStart(const Pod& pod) const;
  void Run(Pod& pod);
  void Stop(Pod& pod);
  void SetReady(Pod& pod, bool ready);
  void Report(Deployment& deployment);

  Loop& loop_;
  ApiServer& server_;
  const SecretFiles& files_;
  Random random_;
  NewProcess new_process_;
  kube::TrustedCalls controller_;
  std::map<kube::ObjectKey, Deployment> deployments_;
  // The stored pods of Deployments.
  std::map<kube::ObjectKey, std::shared_ptr<const kube::Json>> stored_pods_;
  int last_pod_ = 0;
};

}  // namespace sim
