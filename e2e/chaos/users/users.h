// SPDX-License-Identifier: Apache-2.0
// Users: what authors of pods, owners of namespaces and admins do during a run: pods of several
// kinds, Deployments, PodPlacementConfigs and the ClusterPodPlacementConfig, namespaces.
//
//   Users users(stage, seed);
//   Result<> begun = users.Begin();
//   tasks.Spawn("users", users.Run());
//   ...
//   users.Stop();                  // no new calls
//   Result<> ended = users.DeleteAll();
//
// They do not wait for answers, and take a refusal as users do: the next call is another one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "e2e/chaos/stage/stage.h"
#include "kube/base/task_group.h"
#include "sim/base/random.h"

namespace e2e {

struct UserCounts {
  uint64_t pods = 0;  // those of Deployments are in `deployments`
  uint64_t deployments = 0;
  uint64_t configs = 0;          // PodPlacementConfigs created or changed
  uint64_t cluster_configs = 0;  // the same of the ClusterPodPlacementConfig
  uint64_t deleted_configs = 0;
  uint64_t namespaces = 0;
  uint64_t deleted_namespaces = 0;
  uint64_t failed = 0;  // calls that were refused, or had no answer
};

// Thread: the cluster's.
class Users {
 public:
  Users(Stage& stage, uint64_t seed);
  // Waits for calls that have no answer yet.
  ~Users();

  // Creates the ClusterPodPlacementConfig and the first namespaces with their configs. Errors: that
  // of the last call, after a minute.
  kube::Result<> Begin();
  // Until Stop().
  boost::asio::awaitable<void> Run();
  void Stop() { stopped_ = true; }

  // Creates a pod in each namespace that is left; returns their keys.
  std::vector<kube::ObjectKey> CreateProbes();
  // Deletes the namespaces, and then the ClusterPodPlacementConfig. Errors: what is still there
  // after `limit`.
  kube::Result<> DeleteAll(kube::Duration limit);

  const UserCounts& counts() const { return counts_; }

 private:
  struct Created {
    kube::ObjectKey key;
    kube::TimePoint at;
  };

  kube::Result<> AwaitCall(const std::function<kube::ApiRequest()>& request);
  void Act();
  void CreatePod();
  void CreateDeployment();
  void DeleteOldPods();
  void SetConfig();
  void DeleteConfig();
  void SetClusterConfig();
  void CreateNamespace();
  void DeleteNamespace();
  void AnnotatePod();
  void Send(kube::ApiRequest request, uint64_t* count);
  boost::asio::awaitable<void> Call(kube::ApiRequest request, uint64_t* count);

  kube::Json RandomPod(const kube::ObjectKey& key);
  kube::Json RandomConfig(const std::string& ns);
  kube::Json RandomClusterConfig();
  const std::string& AnyNamespace() { return random_.Of(namespaces_); }
  std::string NewName(const std::string& prefix);
  void AddNamespace();

  Stage& stage_;
  sim::Random random_;
  kube::TaskGroup tasks_;
  UserCounts counts_;
  // Those that are in use, and all of the run.
  std::vector<std::string> namespaces_;
  std::vector<std::string> all_namespaces_;
  std::deque<Created> pods_;
  int last_name_ = 0;
  bool stopped_ = false;
};

}  // namespace e2e
