// SPDX-License-Identifier: Apache-2.0
// ProcessCluster: the cluster of the integration tier. All its processes are children of this one.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "e2e/cluster_harness/control_plane.h"
#include "e2e/cluster_harness/process_kubelet.h"
#include "e2e/cluster_harness/rbac_audit.h"
#include "e2e/cluster_harness/registry.h"
#include "e2e/framework/cluster.h"
#include "e2e/framework/follower.h"
#include "kube/base/task_group.h"

namespace e2e {

enum class Release { kNew, kOld };

class ProcessCluster : public Cluster {
 public:
  // Starts control plane, registry and process kubelet, and creates nodes. Data and logs are in
  // options.folder. Call EnterOwnNetwork() first.
  static kube::Result<std::unique_ptr<ProcessCluster>> Start(ControlPlaneOptions options);
  ~ProcessCluster() override;

  kube::Result<> Crash(kube::ObjectKey pod) override;
  std::string Describe(const std::string& ns) override;

  // Deploys the operator from its manifests and waits until it is ready. The old release is what
  // OLD_PROGRAMS names: a folder with the four programs and their manifests, install.yaml, with the
  // images integration.test/pod-placement/PROGRAM:old. Without OLD_PROGRAMS, it is this release
  // with another version (e2e/old_release).
  kube::Result<> DeployOperator(Release release = Release::kNew);
  // The tag of its images.
  static std::string TagOf(Release release) { return release == Release::kNew ? "test" : "old"; }
  // What `bazel run //operator:undeploy` does.
  kube::Result<> UndeployOperator();
  // Deletes the objects of the manifests, in their order, and waits for none of them.
  kube::Result<> DeleteManifests();
  // What DeployOperator() deploys.
  kube::Result<std::vector<kube::Unstructured>> Manifests(Release release = Release::kNew) const;
  // "Deployment NAMESPACE/NAME" of each object of the manifests.
  std::set<std::string> ManifestNames();

  ProcessKubelet& kubelet() { return *kubelet_; }
  ControlPlane& control_plane() { return *plane_; }
  TestRegistry& test_registry() { return *test_registry_; }
  // The requests of the operator's programs so far and the rights of their roles. Needs
  // ControlPlaneOptions::audit.
  kube::Result<RbacAudit> ReadAudit();
  // Waits until no namespace is being deleted: while the API server does not answer, or a new one
  // does not serve custom resources yet, the namespace controller would leave those of a deleted
  // namespace behind.
  kube::Result<> AwaitNoDeletedNamespace();
  // Kills the API server then.
  kube::Result<> KillApiServer();
  // Waits until /readyz succeeds.
  kube::Result<> AwaitApiServer();

 private:
  ProcessCluster(std::unique_ptr<boost::asio::io_context> io, std::unique_ptr<kube::Client> client,
                 Options options, std::unique_ptr<ControlPlane> plane,
                 std::unique_ptr<TestRegistry> registry);
  kube::Result<> CreateNodes();
  // Adds every role and binding from now on to the audit.
  void FollowRoles();

  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<TestRegistry> test_registry_;
  std::unique_ptr<ProcessKubelet> kubelet_;
  RbacAudit audit_;
  std::vector<std::unique_ptr<Follower>> role_followers_;
  kube::TaskGroup tasks_;
};

// TheCluster() of the integration tier.
ProcessCluster& TheProcessCluster();

}  // namespace e2e
