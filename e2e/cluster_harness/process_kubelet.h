// SPDX-License-Identifier: Apache-2.0
// ProcessKubelet: the kubelet of all nodes. Pods with an image of the operator run as processes of
// this machine (pod_process.h); every other pod is reported as running once it is bound to a node.
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
    // Program by the last part of the image's repository, with a tag for another release of it:
    // "shard" -> "shard/shard", "shard:old" -> "old_release/shard".
    std::map<std::string, std::string> programs;
    std::string folder;
  };

  ProcessKubelet(kube::Client& client, kube::Clock& clock, kube::Executor executor,
                 const ControlPlane& plane, Options options);

  // Runs until cancelled, then ends every process.
  boost::asio::awaitable<void> Run();

  // From now on, new pods of the program are only reported as running.
  void OnlyReport(const std::string& program) { options_.programs.erase(program); }

  // nullptr if no such pod runs.
  PodProcess* Find(const kube::ObjectKey& pod);
  // The running pods of one program in `ns` (empty: everywhere).
  std::vector<PodProcess*> OfProgram(const std::string& program, const std::string& ns);
  // With `fail`, new pods of the program in `ns` wait with ImagePullBackOff; without, they start.
  void FailImagePulls(const std::string& program, const std::string& ns, bool fail);
  // More variables in the environment of a program's processes that start from now on.
  void SetEnvironment(const std::string& program, std::map<std::string, std::string> variables) {
    environments_[program] = std::move(variables);
  }
  // The pod's name and the exit status of each process that ended without SIGTERM.
  std::vector<std::pair<std::string, int>> Exits() const;
  // The pod's name and the exit status of each process that was stopped with SIGTERM.
  const std::vector<std::pair<std::string, int>>& stops() const { return stops_; }

  std::string Describe(const std::string& ns);

 private:
  void OnPod(const std::string& type, const Json& pod);
  void OnOperandPod(const std::string& type, const std::string& uid, const Json& pod,
                    const std::string& program);
  void OnOtherPod(const Json& pod, const char* waiting_for = nullptr);
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
  std::map<std::string, std::map<std::string, std::string>> environments_;  // by program
  std::map<std::string, std::unique_ptr<PodProcess>> by_uid_;
  std::set<std::string> ended_;  // uids that may still have events
  std::set<std::pair<std::string, std::string>> failing_images_;
  std::map<std::string, Json> pulling_;  // operands that have not started, by uid
  struct Report {
    Json pod;
    const char* waiting_for;  // nullptr if the pod runs
  };
  std::deque<Report> to_report_;
  std::vector<std::pair<std::string, int>> stops_;
  std::vector<std::pair<std::string, int>> exits_;  // of pods that are gone
};

}  // namespace e2e
