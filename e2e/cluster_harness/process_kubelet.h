// SPDX-License-Identifier: Apache-2.0
// ProcessKubelet: stands in for the kubelets of all nodes. Pods with an image of ours run as
// processes of this machine (pod_process.h); any other pod is just said to be running, as soon as
// it is bound to a node.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "e2e/cluster_harness/pod_process.h"
#include "e2e/framework/follower.h"
#include "kube/base/task_group.h"
#include "kube/types/resource.h"

namespace e2e {

class ProcessKubelet {
 public:
  struct Options {
    // Program by the last part of the image's repository: "shard" -> "shard/shard".
    std::map<std::string, std::string> programs;
    std::string folder;
  };

  ProcessKubelet(kube::Client& client, kube::Clock& clock, kube::Executor executor,
                 const ControlPlane& plane, Options options);

  // Until cancelled; then every process is gone.
  boost::asio::awaitable<void> Run();

  // nullptr if no pod of that name is run.
  PodProcess* Find(const kube::ObjectKey& pod);
  // The running pods of one program in `ns` (empty: everywhere).
  std::vector<PodProcess*> OfProgram(const std::string& program, const std::string& ns);
  // From now on new pods of the program in `ns` are as they would be if their image could not be
  // pulled; without `hold` they start.
  void HoldImage(const std::string& program, const std::string& ns, bool hold);
  // Exit statuses of our processes that were asked to stop by SIGTERM, with the pod's name.
  const std::vector<std::pair<std::string, int>>& stops() const { return stops_; }

  std::string Describe(const std::string& ns);

 private:
  void OnPod(const std::string& type, const Json& pod);
  void OnPodOfOurs(const std::string& type, const std::string& uid, const Json& pod,
                   const std::string& program);
  void OnOtherPod(const Json& pod, const char* stuck_for = nullptr);
  boost::asio::awaitable<void> RunPod(std::string uid);
  boost::asio::awaitable<void> ReportOtherPods();
  std::string NextAddress();

  kube::Client& client_;
  kube::Clock& clock_;
  const ControlPlane& plane_;
  Options options_;
  Follower follower_;
  kube::TaskGroup tasks_;
  int addresses_ = 0;
  std::map<std::string, std::unique_ptr<PodProcess>> by_uid_;
  std::set<std::string> ended_;  // uids whose last event may still come
  std::set<std::pair<std::string, std::string>> held_;
  std::map<std::string, Json> pulling_;  // pods of ours that have not started, by uid
  struct Report {
    Json pod;
    const char* stuck_for;  // nullptr: it runs
  };
  std::deque<Report> to_report_;
  std::vector<std::pair<std::string, int>> stops_;
};

}  // namespace e2e
