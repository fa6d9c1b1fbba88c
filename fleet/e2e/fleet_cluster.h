// SPDX-License-Identifier: Apache-2.0
// FleetCluster: a control plane with the CRDs of a hub, kubectl, and the fleet's programs as
// children. FleetFixture: a test with such a cluster, skipped without KUBEBUILDER_ASSETS.
//
// Failures are those of the current test, with the logs of all programs.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/control_plane.h"

namespace e2e {

// The folder with the programs of a control plane; "" if there is none.
std::string ControlPlaneAssets();

class FleetCluster {
 public:
  // Starts it in a network of its own; returns when the API server serves the CRDs in the folders
  // `crds`. Returns: false, with a failure of the test, if it does not serve them.
  bool StartCluster(const std::vector<std::string>& crds = {"fleet/api/crds"});

  // `command` is split at spaces; `last`, if any, is one more argument.
  Finished TryKubectl(const std::string& command, const std::string& last = "");
  // The output of a command that must succeed; "", with a failure of the test, if it fails.
  std::string Kubectl(const std::string& command, const std::string& last = "");
  std::string Field(const std::string& object, const std::string& path);
  bool Exists(const std::string& object) { return TryKubectl("get " + object).status == 0; }
  // What the operator of a member reports.
  void SetAvailable(const std::string& object);
  // Waits until the field has this value, a minute at most.
  void Await(const std::string& object, const std::string& path, const std::string& value);
  // Waits until the field has another value than `before`, a minute at most.
  void AwaitChange(const std::string& object, const std::string& path, const std::string& before);

  // Writes a file of this test. Returns: its path.
  std::string File(const std::string& name, const std::string& text);
  // A kubeconfig with a token of the ServiceAccount.
  std::string KubeconfigOf(const std::string& account, const std::string& ns = "default");

  // Starts a program, whose log is named as `name`. One of this name that still runs is killed.
  void StartProgram(const std::string& name, const std::string& path,
                    std::vector<std::string> args);
  // The hub's program with cluster-admin rights.
  void StartHub(std::vector<std::string> more_args = {});
  void KillProgram(const std::string& name) { programs_.erase(name); }
  // Expects that the program has not ended by itself.
  void ExpectRuns(const std::string& name);
  std::string LogOf(const std::string& name, size_t bytes = 4000) const;

  ControlPlane& plane() { return *plane_; }
  const std::string& folder() const { return folder_; }

 private:
  bool AwaitReady();
  std::string Logs() const;

  std::string folder_;
  std::unique_ptr<ControlPlane> plane_;
  std::map<std::string, std::unique_ptr<ChildProcess>> programs_;
};

class FleetFixture : public testing::Test, protected FleetCluster {
 protected:
  void SetUp() override {
    if (ControlPlaneAssets().empty())
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    ASSERT_TRUE(StartCluster(CrdFolders()));
  }
  virtual std::vector<std::string> CrdFolders() const { return {"fleet/api/crds"}; }
};

}  // namespace e2e
