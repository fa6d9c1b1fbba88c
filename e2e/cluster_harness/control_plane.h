// SPDX-License-Identifier: Apache-2.0
// ControlPlane: a real etcd, kube-apiserver, kube-controller-manager and kube-scheduler as children
// of this process.
//
// No kubelet and no node lifecycle: Node objects made by hand stay Ready. The API server calls
// webhooks that are named by Service on the addresses of their pods, as no kube-proxy is there.
// Ports are fixed: see own_network.h.
#pragma once

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "e2e/cluster_harness/child_process.h"
#include "kube/base/error.h"

namespace e2e {

struct ControlPlaneOptions {
  // The folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler.
  std::string assets;
  // For keys, data and logs; must exist.
  std::string folder;
  // Whether the API server keeps a log of what ServiceAccounts ask of it.
  bool audit = false;
};

class ControlPlane {
 public:
  // Writes keys and starts the programs; they are not ready yet when it returns.
  static kube::Result<std::unique_ptr<ControlPlane>> Start(ControlPlaneOptions options);

  // Where a process in the same network finds the API server.
  std::string host() const { return "127.0.0.1"; }
  int port() const { return 6443; }
  std::string url() const { return "https://127.0.0.1:6443"; }
  std::string ca_file() const { return options_.folder + "/ca.crt"; }
  // A kubeconfig with all rights.
  std::string admin_kubeconfig() const { return options_.folder + "/admin.kubeconfig"; }

  // Writes a kubeconfig that authenticates with what `token_file` holds at the time of a call.
  kube::Result<> WriteKubeconfig(const std::string& path, const std::string& token_file) const;

  // With options.audit: one Event of audit.k8s.io/v1 a line.
  std::string audit_log() const { return options_.folder + "/audit.log"; }

  // Names the first program that has ended although nobody asked, with the end of its log.
  kube::Result<> AllRun();

  // By the names of the programs, such as "kube-apiserver".
  std::map<std::string, pid_t> Pids() const;

  // A crash of the API server alone, and its return on the same data.
  kube::Result<> KillApiServer();
  kube::Result<> StartApiServer();
  // The API server hangs: connections stay open, and nothing is answered. And goes on.
  kube::Result<> FreezeApiServer() { return SignalApiServer(SIGSTOP); }
  kube::Result<> ThawApiServer() { return SignalApiServer(SIGCONT); }

 private:
  explicit ControlPlane(ControlPlaneOptions options) : options_(std::move(options)) {}

  kube::Result<> MakeKeys();
  kube::Result<> SignalApiServer(int signal);
  kube::Result<> WriteAuditPolicy();
  kube::Result<> StartProgram(const std::string& name, std::vector<std::string> args);

  ControlPlaneOptions options_;
  std::map<std::string, std::unique_ptr<ChildProcess>> programs_;
};

// Writes `text` to `path`, replacing the file in one step. kUnavailable where that fails.
kube::Result<> WriteFile(const std::string& path, const std::string& text);

}  // namespace e2e
