// SPDX-License-Identifier: Apache-2.0
// Stage: what the faults of a run work on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/chaos/stage/disk.h"
#include "e2e/chaos/stage/network.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace e2e {

// Thread: the cluster's.
class Stage {
 public:
  // Of the operator's programs.
  struct Process {
    std::string program;
    kube::ObjectKey pod;
    pid_t pid = 0;
  };

  // Makes the networks, disks and the cluster, and deploys the operator. `folder` is emptied; at
  // the end it has the logs.
  static kube::Result<std::unique_ptr<Stage>> Make(const std::string& assets,
                                                   const std::string& folder);
  // Copies the logs of the operator's programs from their disk, and stops everything.
  ~Stage();

  ProcessCluster& cluster() { return *cluster_; }
  ControlPlane& plane() { return cluster_->control_plane(); }
  ProcessKubelet& kubelet() { return cluster_->kubelet(); }
  ChaosNetwork& network() { return *network_; }
  Disk& etcd_disk(size_t member) { return *etcd_disks_[member]; }
  Disk& pods_disk() { return *pods_disk_; }
  // "demo/multi:1" as pods name it.
  static std::string Image(const std::string& name) {
    return ChaosNetwork::RegistryAddress() + "/" + name;
  }

  // The processes of a program that run, in all namespaces, and number `pick` of them. kNotFound if
  // there is none.
  std::vector<Process> Processes(const std::string& program);
  kube::Result<Process> Pick(const std::string& program, uint64_t pick);
  // The one that holds the Lease: of the whole cluster, or of one of the shards' namespaces.
  kube::Result<Process> PickLeader(const std::string& program, uint64_t pick);
  // nullptr if it has ended.
  PodProcess* Find(const Process& process);
  // No effect if it has ended.
  void Signal(const Process& process, int signal);

  // The member of etcd that leads; kUnavailable if none does.
  kube::Result<size_t> EtcdLeader();

  // Starts programs of the control plane that have ended by themselves, as a kubelet does with
  // static pods. Once a second, at most.
  void KeepControlPlane();
  // How often that happened, by program.
  const std::map<std::string, int>& control_plane_restarts() const { return restarts_; }

  // Whether everything answers: members of etcd, API servers, and all of the operator's pods. The
  // error names what does not.
  kube::Result<> AllWork();

 private:
  Stage() = default;
  kube::Result<> Start(const std::string& assets, const std::string& folder);
  kube::Result<> ConnectDirectly();
  void CopyLogs();

  std::string folder_;
  std::vector<std::unique_ptr<Disk>> etcd_disks_;
  std::unique_ptr<Disk> pods_disk_;
  std::unique_ptr<ChaosNetwork> network_;
  std::unique_ptr<ProcessCluster> cluster_;
  // Of each API server, without a proxy.
  std::vector<std::unique_ptr<kube::Client>> direct_;
  std::map<std::string, int> restarts_;
  kube::TimePoint next_restart_{};
};

}  // namespace e2e
