// SPDX-License-Identifier: Apache-2.0
// PodProcess: one of the operator's pods as a process of this machine, with the arguments,
// environment, volumes, ServiceAccount, memory limit, readiness probe, restarts and grace period of
// its spec. Reports the pod's status as a kubelet does.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/control_plane.h"
#include "e2e/cluster_harness/memory_limit.h"
#include "e2e/cluster_harness/pod_volumes.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace e2e {

class PodProcess {
 public:
  struct Options {
    // The program that the image contains, and its name.
    std::string program;
    std::string program_name;
    // An address of kPodNetwork. Replaces the unspecified address in arguments.
    std::string ip;
    // The folder for volumes and log; created by PodProcess.
    std::string folder;
    // More variables of its environment, read at each start. Outlives it. nullptr: none.
    const std::map<std::string, std::string>* environment = nullptr;
  };

  PodProcess(kube::Client& client, kube::Clock& clock, const ControlPlane& plane, Json pod,
             Options options);

  // Runs the pod until it is deleted, and restarts its process when that ends.
  boost::asio::awaitable<void> Run();

  // The pod is being deleted: sends SIGTERM, SIGKILL after `grace`, and then deletes the object.
  void Terminate(std::chrono::seconds grace);
  // The object was deleted: kills the process.
  void OnDeleted() { deleted_ = true; }
  // Kills the process; it will be restarted.
  void Crash();

  // kNotFound while no process runs.
  kube::Result<pid_t> pid() const;
  const std::string& ns() const { return ns_; }
  const std::string& name() const { return name_; }
  const std::string& program_name() const { return options_.program_name; }
  const std::string& ip() const { return options_.ip; }
  bool ready() const { return ready_; }
  int restarts() const { return restarts_; }
  // The memory limit of the container in bytes; 0 if none is enforced.
  int64_t memory_limit() const;
  // The cgroup.procs of the cgroup that limits its memory; "" if there is none.
  std::string cgroup() const { return limit_ == nullptr ? "" : limit_->procs_file(); }
  // The exit status of each process that ended without SIGTERM.
  const std::vector<int>& exits() const { return exits_; }
  // The exit status after the last SIGTERM.
  std::optional<int> last_stop() const { return last_stop_; }
  // What its processes have written, those before a restart included.
  std::string log_file() const { return options_.folder + "/log"; }
  std::string LogTail() const { return TailOfFile(log_file(), 3000); }

 private:
  const Json& container() const { return pod_["spec"]["containers"][0]; }
  kube::Result<> Start();
  std::vector<std::string> Arguments() const;
  std::string AtOwnAddress(std::string argument) const;
  std::map<std::string, std::string> Environment() const;
  kube::Async<> Stop();
  kube::Async<bool> Probe();
  void SetReady(bool ready);
  void ReapIfEnded();
  kube::Async<> Report();
  Json Status() const;

  kube::Client& client_;
  kube::Clock& clock_;
  const ControlPlane& plane_;
  Json pod_;
  Options options_;
  std::string ns_;
  std::string name_;
  PodVolumes volumes_;
  std::unique_ptr<MemoryLimit> limit_;
  std::unique_ptr<ChildProcess> process_;
  std::string started_at_;
  kube::TimePoint start_after_{};
  std::string waiting_for_ = "ContainerCreating";
  std::string waiting_message_;
  bool ready_ = false;
  std::string ready_since_;  // or not ready since
  int restarts_ = 0;
  std::optional<std::chrono::seconds> grace_;
  bool deleted_ = false;
  std::vector<int> exits_;
  std::optional<int> last_stop_;
  Json reported_;
};

}  // namespace e2e
