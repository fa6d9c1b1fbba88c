// SPDX-License-Identifier: Apache-2.0
// FleetCluster: the API server of a hub, of a member, or of both in one, with a client, and the
// fleet's programs as children. What tests, demo and benchmark start.
//
//   auto cluster = FleetCluster::Start({.assets = assets, .folder = folder}, {"fleet/api/crds"});
//   Result<std::string> kubeconfig = (*cluster)->NewAdmin(FleetCluster::kHubAccount);
//   Result<> started = (*cluster)->StartHub(*kubeconfig, FleetCluster::kNamespace);
//   Result<> decided = (*cluster)->Await("Placement p is decided", [&] { return ...; });
//
// The paths of programs and files are those of the runfiles, the working directory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/control_plane.h"
#include "e2e/framework/cluster.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class FleetCluster final : public Cluster {
 public:
  // The namespace of the hub's program and of the accounts of NewAdmin().
  static constexpr char kNamespace[] = "multiarch-fleet";
  // The hub's ServiceAccount, as it is in the audit log.
  static constexpr char kHubAccount[] = "multiarch-fleet-hub";

  using Holds = std::function<bool()>;
  // Waits until `holds`; the text is for people.
  using Wait = std::function<kube::Result<>(const std::string& what, const Holds& holds)>;

  // Starts a control plane in a network of this process, which must not have threads when it starts
  // the first one. Does not wait until it is ready. Several may have one event loop.
  static kube::Result<std::unique_ptr<FleetCluster>> Launch(
      ControlPlaneOptions options, std::shared_ptr<boost::asio::io_context> io);
  // Waits until the API server answers, and serves the CRDs in these folders, which it creates.
  // `wait`: Await() if empty.
  kube::Result<> Serve(const std::vector<std::string>& crds, Wait wait = nullptr);
  // Both.
  static kube::Result<std::unique_ptr<FleetCluster>> Start(ControlPlaneOptions options,
                                                           const std::vector<std::string>& crds);

  // Runs the event loop until `holds`. kUnavailable if a program has ended, kDeadlineExceeded after
  // timeout(), both with `what`.
  kube::Result<> Await(const std::string& what, const Holds& holds);

  // Errors: those of the API server, with the object's name.
  kube::Result<> Create(const kube::Resource& resource, kube::Json object);
  // A JSON merge patch.
  kube::Result<> Patch(const kube::Resource& resource, kube::ObjectKey key, kube::Json patch,
                       std::string subresource = "");
  // Server-side apply of all objects of a YAML file. Errors: also kInvalid for a kind that no such
  // file has had.
  kube::Result<> ApplyFile(const std::string& path);

  // The path of a kubeconfig with a token of the ServiceAccount.
  kube::Result<std::string> KubeconfigOf(const std::string& account, const std::string& ns);
  // The same for a new account in kNamespace that may do everything.
  kube::Result<std::string> NewAdmin(const std::string& account);

  // Starts a program, whose log is named as `name`. One of this name that still runs is killed.
  kube::Result<> StartProgram(const std::string& name, const std::string& path,
                              std::vector<std::string> args);
  // The program "hub", with health and metrics at port 8080 of the API server's address.
  kube::Result<> StartHub(const std::string& kubeconfig, const std::string& ns,
                          std::vector<std::string> args = {});
  // The program "agent" of a member.
  kube::Result<> StartAgent(const std::string& member, const std::string& hub_kubeconfig,
                            const std::string& kubeconfig, const std::string& ns,
                            std::vector<std::string> args = {});
  void KillProgram(const std::string& name) { programs_.erase(name); }
  // With SIGTERM, so that it releases its Lease. kDeadlineExceeded if it does not end.
  kube::Result<> StopProgram(const std::string& name);
  // nullptr if it was not started.
  ChildProcess* Program(const std::string& name);
  // kUnavailable, with the end of its log, if it does not run.
  kube::Result<> Runs(const std::string& name);
  // The same for all programs, and those of the control plane.
  kube::Result<> AllRun();
  std::string LogOf(const std::string& name, size_t bytes = 4000) const;
  // The ends of all programs' logs.
  std::string Logs() const;

  ControlPlane& plane() { return *plane_; }
  const std::string& folder() const { return folder_; }

  // Cluster
  kube::Result<> Crash(kube::ObjectKey pod) override;
  std::string Describe(const std::string&) override { return Logs(); }

 private:
  FleetCluster(std::shared_ptr<boost::asio::io_context> io, std::unique_ptr<kube::Client> client,
               Options options, std::unique_ptr<ControlPlane> plane, std::string folder)
      : Cluster(std::move(io), std::move(client), std::move(options)),
        plane_(std::move(plane)),
        folder_(std::move(folder)) {}

  bool Answers(const std::string& target);
  // Of one of the kinds of the files that tests and demo apply.
  kube::Result<> Apply(kube::Json object);

  std::unique_ptr<ControlPlane> plane_;
  std::string folder_;
  std::map<std::string, std::unique_ptr<ChildProcess>> programs_;
};

}  // namespace e2e
