// SPDX-License-Identifier: Apache-2.0
// KubectlFleet: a FleetCluster that is a hub and its own member, with kubectl. FleetFixture: a test
// with one, skipped without KUBEBUILDER_ASSETS.
//
// Failures are those of the current test, with the logs of all programs. Tests that make many calls
// or watches use FleetCluster alone.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/control_plane.h"
#include "fleet/e2e/fleet_cluster.h"

namespace e2e {

// The folder with the programs of a control plane; "" if there is none.
std::string ControlPlaneAssets();
// A folder of the current test.
std::string TestFolder();

class KubectlFleet {
 public:
  // Returns when the API server serves the CRDs in the folders `crds`. Returns: false, with a
  // failure of the test, if it does not serve them.
  bool StartCluster(const std::vector<std::string>& crds = {"fleet/api/crds"});

  // `command` is split at spaces; `last`, if any, is one more argument.
  Finished TryKubectl(const std::string& command, const std::string& last = "");
  // The output of a command that must succeed; "", with a failure of the test, if it fails.
  std::string Kubectl(const std::string& command, const std::string& last = "");
  std::string Field(const std::string& object, const std::string& path);
  // A field of a condition, such as "reason".
  std::string ConditionField(const std::string& object, const std::string& type,
                             const std::string& field);
  bool Exists(const std::string& object) { return TryKubectl("get " + object).status == 0; }
  // The resourceVersions of all objects of some kinds, by "Placement ns/name".
  std::map<std::string, std::string> Versions(const std::string& kinds);
  // What the operator of a member reports.
  void SetAvailable(const std::string& object);

  // Each waits for a minute and a half at most.
  void Await(const std::string& object, const std::string& path, const std::string& value);
  void AwaitCondition(const std::string& object, const std::string& type,
                      const std::string& status = "True");
  // Until the field has another value than `before`.
  void AwaitChange(const std::string& object, const std::string& path, const std::string& before);
  // Until the Placement has this number of clusters.
  void AwaitSelected(const std::string& placement, int clusters);
  // Until there are events about the object. Returns: the fields `path` of all.
  std::string AwaitEvents(const std::string& selector, const std::string& path);
  void AwaitTrue(const std::string& what, const std::function<bool()>& holds);

  // Writes a file of this test. Returns: its path.
  std::string File(const std::string& name, const std::string& text);
  // A kubeconfig with a token of the ServiceAccount.
  std::string KubeconfigOf(const std::string& account, const std::string& ns = "default");

  // The hub's program with cluster-admin rights.
  void StartHub(std::vector<std::string> args = {});
  // With those of a ServiceAccount in its namespace multiarch-fleet.
  void StartHubAs(const std::string& account, std::vector<std::string> args);
  // The agent's program, of cluster c1.
  void StartAgent(const std::string& hub_kubeconfig, const std::string& kubeconfig,
                  const std::string& ns = "default", std::vector<std::string> args = {});
  void KillProgram(const std::string& name) { cluster_->KillProgram(name); }
  // Expects that the program has not ended by itself.
  void ExpectRuns(const std::string& name);
  // Also that it was denied no right, and has no token in its log.
  void ExpectNothingForbidden(const std::string& name);
  std::string LogOf(const std::string& name) const { return cluster_->LogOf(name); }

  ControlPlane& plane() { return cluster_->plane(); }
  const std::string& folder() const { return cluster_->folder(); }

 private:
  std::unique_ptr<FleetCluster> cluster_;
};

class FleetFixture : public testing::Test, protected KubectlFleet {
 protected:
  // `files`: YAML files that are applied, in this order. `crds`: folders.
  explicit FleetFixture(std::vector<std::string> files,
                        std::vector<std::string> crds = {"fleet/api/crds", "api/crds"})
      : files_(std::move(files)), crds_(std::move(crds)) {}
  void SetUp() override {
    if (ControlPlaneAssets().empty())
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    ASSERT_TRUE(StartCluster(crds_));
    for (const std::string& file : files_) Kubectl("apply --filename", file);
  }

 private:
  std::vector<std::string> files_;
  std::vector<std::string> crds_;
};

}  // namespace e2e
