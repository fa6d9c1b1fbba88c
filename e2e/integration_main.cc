// SPDX-License-Identifier: Apache-2.0
// The integration tier: the flows on a real control plane, with the operator's programs as
// processes of this machine. KUBEBUILDER_ASSETS names the folder with the control plane's programs;
// if it is not set, every test is skipped with a message.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "e2e/cluster_harness/judged_run.h"
#include "e2e/cluster_harness/own_network.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/shard_rights.h"
#include "e2e/framework/run_flows.h"
#include "operator/deploy/manifests.h"

namespace e2e {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Judges each flow when it has ended; a violation fails it.
class FlowJudge : public testing::EmptyTestEventListener {
 public:
  explicit FlowJudge(std::unique_ptr<JudgedRun> run) : run_(std::move(run)) {}

  void OnTestEnd(const testing::TestInfo& test) override {
    const Verdict verdict = run_->JudgeFlow();
    std::cout << "judged: " << verdict.Summary() << std::endl;
    if (!verdict.violations.empty()) {
      std::cout << "VIOLATIONS of " << test.test_suite_name() << "." << test.name() << "\n"
                << verdict.Describe() << std::endl;
      ADD_FAILURE() << "it broke a rule, see above";
    }
    if (test.result()->Failed()) run_->KeepFile();
  }
  // Before the cluster ends.
  void OnEnvironmentsTearDownStart(const testing::UnitTest&) override {
    std::cout << "judged in all: " << run_->Summary() << std::endl;
    run_.reset();
  }

 private:
  std::unique_ptr<JudgedRun> run_;
};

class ProcessClusterEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    std::string assets = Variable("KUBEBUILDER_ASSETS");
    if (assets.empty()) {
      GTEST_SKIP()
          << "KUBEBUILDER_ASSETS is not set: without a control plane ALL FLOWS ARE SKIPPED. "
             "e2e/cluster/build-tools.sh builds one and prints its folder.";
    }
    std::string folder = Variable("TEST_TMPDIR").empty() ? "/tmp/pod-placement-integration"
                                                         : Variable("TEST_TMPDIR") + "/cluster";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::cout << "logs are in " << folder << std::endl;

    kube::Result<> network = EnterOwnNetwork();
    ASSERT_TRUE(network) << network.error();
    auto cluster = ProcessCluster::Start(
        {.assets = assets, .folder = folder, .audit = true, .record_writes = true});
    ASSERT_TRUE(cluster) << cluster.error();
    ProcessCluster& started = **cluster;
    SetTheCluster(std::move(*cluster));
    started_ = true;
    auto run = JudgedRun::Start(started);
    ASSERT_TRUE(run) << run.error();
    // Owned by GoogleTest.
    testing::UnitTest::GetInstance()->listeners().Append(new FlowJudge(std::move(*run)));
    kube::Result<> deployed = started.DeployOperator();
    ASSERT_TRUE(deployed) << deployed.error() << "\n"
                          << started.Describe(started.operator_namespace());
  }

  void TearDown() override {
    if (started_) CompareRights();
    SetTheCluster(nullptr);
  }

 private:
  // Compares the requests of all flows with the rights of the roles.
  void CompareRights() {
    auto audit = TheProcessCluster().ReadAudit();
    ASSERT_TRUE(audit) << audit.error();
    // Includes the components for OpenShift, although this cluster is not one, and for
    // cert-manager.
    auto shipped = operator_::LoadManifests({.ns = TheCluster().operator_namespace(),
                                             .images = {},
                                             .components = {"cert-manager", "openshift"}});
    ASSERT_TRUE(shipped) << shipped.error();
    for (const kube::Unstructured& object : *shipped) {
      audit->AddRole(object.body());
      audit->AddBinding(object.body());
    }
    std::cout << "RBAC: " << audit->requests() << " requests of " << audit->users().size()
              << " programs" << std::endl;
    for (const std::string& line : audit->Missing()) {
      ADD_FAILURE() << "RBAC: missing right in operator/manifests or operator/objects: " << line;
    }
    // The rights that no flow uses are found when all shards have ended (rights_test.cc).
    const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
    if (GTEST_FLAG_GET(filter) != "*" || tests.failed_test_count() > 0) {
      std::cout << "RBAC: unused rights are not checked, because not all flows ran and passed"
                << std::endl;
      return;
    }
    kube::Result<> written = WriteShardRights(*audit);
    EXPECT_TRUE(written) << written.error();
  }

  bool started_ = false;
};

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) {
  return e2e::RunFlows(argc, argv, std::make_unique<e2e::ProcessClusterEnvironment>());
}
