// SPDX-License-Identifier: Apache-2.0
// HubCluster: the control plane of a hub with a client, and the hub's program as a child, for tests
// that make many calls or watches. Tests that read a few objects use FleetCluster and kubectl.
//
//   auto cluster = HubCluster::Start({.assets = assets, .folder = folder, .audit = true});
//   Result<> started = (*cluster)->StartHub({"--placements=all"});
//   auto placement = (*cluster)->Run(kube::GetObject((*cluster)->client(), kPlacements, key));
#pragma once

#include <sys/types.h>

#include <cstdint>
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

class HubCluster final : public Cluster {
 public:
  // The namespace of the hub's program and of the accounts of NewAdmin().
  static constexpr char kNamespace[] = "multiarch-fleet";
  // The hub's ServiceAccount, as it is in the audit log.
  static constexpr char kHubAccount[] = "multiarch-fleet-hub";

  // Starts it in a network of this process, which must not have threads when it starts the first
  // one. Returns when the API server serves the CRDs of fleet/api/crds, which are in the runfiles.
  // Errors: those of the control plane.
  static kube::Result<std::unique_ptr<HubCluster>> Start(ControlPlaneOptions options);

  // The path of a kubeconfig with the token of a new ServiceAccount that may do everything.
  kube::Result<std::string> NewAdmin(const std::string& account);

  // Starts the hub's program of the runfiles (//fleet/hub, //fleet/cel/evaluator).
  kube::Result<> StartHub(std::vector<std::string> args = {});
  // With SIGTERM, so that it releases its Lease. kDeadlineExceeded if it does not end.
  kube::Result<> StopHub();
  // kUnavailable, with the end of its log, if it does not run.
  kube::Result<> HubRuns();
  // HubRuns() first. 0 before StartHub().
  pid_t hub_pid() const { return hub_ == nullptr ? 0 : hub_->pid(); }
  // How many Placements this process of the hub has scheduled, as its metrics count them. Blocks.
  // kUnavailable while it does not serve them.
  kube::Result<int64_t> HubPasses();

  ControlPlane& control_plane() { return *plane_; }

  // Cluster
  kube::Result<> Crash(kube::ObjectKey pod) override;
  std::string Describe(const std::string& ns) override;

 private:
  HubCluster(std::unique_ptr<boost::asio::io_context> io, std::unique_ptr<kube::Client> client,
             Options options, std::unique_ptr<ControlPlane> plane, std::string folder)
      : Cluster(std::move(io), std::move(client), std::move(options)),
        plane_(std::move(plane)),
        folder_(std::move(folder)) {}

  kube::Result<> Prepare();
  // Waits until the API server serves the kind of a CRD.
  kube::Result<> AwaitServed(const kube::Json& crd);
  std::string HubLog() const { return TailOfFile(folder_ + "/hub.log"); }

  std::unique_ptr<ControlPlane> plane_;
  std::string folder_;
  std::string hub_kubeconfig_;
  std::unique_ptr<ChildProcess> hub_;
};

}  // namespace e2e
