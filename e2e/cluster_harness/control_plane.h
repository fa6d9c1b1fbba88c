// SPDX-License-Identifier: Apache-2.0
// ControlPlane: a real etcd, kube-apiserver, kube-controller-manager and kube-scheduler as children
// of this process.
//
// By default one etcd and one API server; with options.etcd and options.api_servers, several of
// both, whose connections may go through proxies.
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
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace e2e {

class ControlPlane;

// A member of etcd.
struct EtcdMember {
  // Where it listens.
  std::string address;
  // Where the other members connect to: `address`, or that of a proxy.
  std::string peer_address;
};

struct ApiServerPlace {
  // Where it listens.
  std::string address;
  // Where it connects to the members of etcd: their addresses, or those of proxies.
  std::vector<std::string> etcd;
};

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
  // More arguments of kube-apiserver.
  std::vector<std::string> api_server_args = {};
  // The members of etcd; none: one at `address`.
  std::vector<EtcdMember> etcd = {};
  // None: one at `address`, which uses the etcd there or that of `etcd_of`.
  std::vector<ApiServerPlace> api_servers = {};
  // Where clients connect to, and where the operator's pods do. "": to the first API server.
  std::string clients_address = "";
  std::string pods_address = "";
};

class ControlPlane {
 public:
  // Writes keys and starts the programs. Does not wait until they are ready.
  static kube::Result<std::unique_ptr<ControlPlane>> Start(ControlPlaneOptions options);

  // The address of the API server in this network.
  const std::string& host() const;
  // The same, for the operator's pods.
  const std::string& host_for_pods() const;
  int port() const { return 6443; }
  std::string url() const { return "https://" + host() + ":" + std::to_string(port()); }
  std::string ca_file() const { return options_.folder + "/ca.crt"; }
  // A kubeconfig with cluster-admin rights.
  std::string admin_kubeconfig() const { return options_.folder + "/admin.kubeconfig"; }

  // Writes a kubeconfig that authenticates with the token in `token_file`, read for each call.
  kube::Result<> WriteKubeconfig(const std::string& path, const std::string& token_file) const;
  // The same, for one of the operator's pods.
  kube::Result<> WritePodKubeconfig(const std::string& path, const std::string& token_file) const;

  // With options.audit: one audit.k8s.io/v1 Event per line. Each API server has a log of its own.
  std::string audit_log(size_t api_server = 0) const;
  size_t api_servers() const { return options_.api_servers.size(); }
  size_t etcd_members() const { return options_.etcd.size(); }

  // kUnavailable if a program has ended unexpectedly, with its name and the end of its log.
  kube::Result<> AllRun();

  // The programs that have ended although nobody killed them.
  std::vector<std::string> Ended();

  // Starts kube-controller-manager and kube-scheduler again where they have ended, as a kubelet
  // would: they end if no API server is healthy within ten seconds, as on a busy machine.
  kube::Result<> RestartControllers();

  // By program name, such as "kube-apiserver".
  std::map<std::string, pid_t> Pids() const;
  // The names of the members of etcd and of the API servers: "etcd", "etcd-1", "etcd-2".
  static std::string EtcdName(size_t member) { return NameOf("etcd", member); }
  static std::string ApiServerName(size_t number) { return NameOf("kube-apiserver", number); }

  // Kills a program; kNotFound if it was killed before. Restart() starts it again with the
  // arguments that it had, kills it before if it runs, and does not wait until it is ready.
  kube::Result<> Kill(const std::string& program);
  kube::Result<> Restart(const std::string& program);
  // kNotFound if it was killed.
  kube::Result<> Signal(const std::string& program, int signal);

  // Kills the first API server; starts it again with the same data. `admission`: configurations of
  // admission plugins, by their names.
  kube::Result<> KillApiServer() { return Kill(ApiServerName(0)); }
  kube::Result<> StartApiServer(const std::map<std::string, kube::Json>& admission = {});
  // Stops the API server: connections stay open, and no request is answered. Thaw continues it.
  kube::Result<> FreezeApiServer() { return Signal(ApiServerName(0), SIGSTOP); }
  kube::Result<> ThawApiServer() { return Signal(ApiServerName(0), SIGCONT); }

 private:
  explicit ControlPlane(ControlPlaneOptions options);

  // "etcd", "etcd-1", ...
  static std::string NameOf(const std::string& program, size_t number);

  kube::Result<> MakeKeys();
  std::string ServerNames() const;
  kube::Result<> WriteKubeconfig(const std::string& path, const std::string& token_file,
                                 const std::string& server) const;
  kube::Result<> StartEtcd(size_t member);
  kube::Result<> StartApiServer(size_t number, const std::map<std::string, kube::Json>& admission);
  kube::Result<> StartPodControllers();
  kube::Result<> WriteAuditPolicy();
  // `name`: that of the program, or with a number.
  kube::Result<> StartProgram(const std::string& name, std::vector<std::string> args);

  ControlPlaneOptions options_;
  // The arguments of each program that was started.
  std::map<std::string, std::vector<std::string>> arguments_;
  std::map<std::string, std::unique_ptr<ChildProcess>> programs_;
};

// Writes `text` to `path` and replaces the file atomically. Errors: kUnavailable.
kube::Result<> WriteFile(const std::string& path, const std::string& text);

}  // namespace e2e
