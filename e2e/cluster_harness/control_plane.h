// SPDX-License-Identifier: Apache-2.0
// ControlPlane: a real etcd, kube-apiserver, kube-controller-manager and kube-scheduler as children
// of this process.
//
// Without kubelet and node lifecycle controller: Node objects created by tests stay Ready. Without
// kube-proxy: the API server calls the webhook of a Service on the addresses of its pods. Ports are
// fixed (own_network.h): several control planes differ in their addresses.
#pragma once

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "e2e/cluster_harness/child_process.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace e2e {

class ControlPlane;

struct ControlPlaneOptions {
  // The folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
  std::string assets;
  // The folder for keys, data and logs; must exist.
  std::string folder;
  // Whether the API server logs the requests of ServiceAccounts.
  bool audit = false;
  // With `audit`: it also logs what every user writes, with the objects (e2e/recording).
  bool record_writes = false;
  // Where all programs listen: a loopback address. Each control plane of a network has its own.
  std::string address = "127.0.0.1";
  // The control plane whose etcd also keeps the objects of this one, under a prefix of its own. It
  // must outlive this one. nullptr: an etcd is started.
  const ControlPlane* etcd_of = nullptr;
  // Without kube-controller-manager and kube-scheduler: for a cluster that runs no pods. Deleted
  // namespaces stay.
  bool only_api_server = false;
};

class ControlPlane {
 public:
  // Writes keys and starts the programs. Does not wait until they are ready.
  static kube::Result<std::unique_ptr<ControlPlane>> Start(ControlPlaneOptions options);

  // The address of the API server in this network.
  const std::string& host() const { return options_.address; }
  int port() const { return 6443; }
  std::string url() const { return "https://" + host() + ":" + std::to_string(port()); }
  std::string ca_file() const { return options_.folder + "/ca.crt"; }
  // A kubeconfig with cluster-admin rights.
  std::string admin_kubeconfig() const { return options_.folder + "/admin.kubeconfig"; }

  // Writes a kubeconfig that authenticates with the token in `token_file`, read for each call.
  kube::Result<> WriteKubeconfig(const std::string& path, const std::string& token_file) const;

  // With options.audit: one audit.k8s.io/v1 Event per line.
  std::string audit_log() const { return options_.folder + "/audit.log"; }

  // kUnavailable if a program has ended unexpectedly, with its name and the end of its log.
  kube::Result<> AllRun();

  // By program name, such as "kube-apiserver".
  std::map<std::string, pid_t> Pids() const;

  // Kills the API server; starts it again with the same data. `admission`: configurations of
  // admission plugins, by their names.
  kube::Result<> KillApiServer();
  kube::Result<> StartApiServer(const std::map<std::string, kube::Json>& admission = {});
  // Stops the API server: connections stay open, and no request is answered. Thaw continues it.
  kube::Result<> FreezeApiServer() { return SignalApiServer(SIGSTOP); }
  kube::Result<> ThawApiServer() { return SignalApiServer(SIGCONT); }

 private:
  explicit ControlPlane(ControlPlaneOptions options) : options_(std::move(options)) {}

  kube::Result<> MakeKeys();
  std::string EtcdUrl() const;
  kube::Result<> StartEtcd();
  kube::Result<> StartPodControllers();
  kube::Result<> SignalApiServer(int signal);
  kube::Result<> WriteAuditPolicy();
  kube::Result<> StartProgram(const std::string& name, std::vector<std::string> args);

  ControlPlaneOptions options_;
  std::map<std::string, std::unique_ptr<ChildProcess>> programs_;
};

// Writes `text` to `path` and replaces the file atomically. Errors: kUnavailable.
kube::Result<> WriteFile(const std::string& path, const std::string& text);

}  // namespace e2e
