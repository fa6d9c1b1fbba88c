// SPDX-License-Identifier: Apache-2.0
// The integration tier: the flows on a real control plane, with our programs as processes beside it. KUBEBUILDER_ASSETS
// names the folder with the control plane's programs; where it is not set, every test says so and is skipped.
#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "e2e/cluster_harness/own_network.h"
#include "e2e/cluster_harness/process_cluster.h"

namespace e2e {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class ProcessClusterEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    std::string assets = Variable("KUBEBUILDER_ASSETS");
    if (assets.empty()) {
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: no control plane, so NOTHING IS TESTED HERE. "
                      "e2e/cluster/build-tools.sh builds one and prints its folder.";
    }
    std::string folder = Variable("TEST_TMPDIR").empty() ? "/tmp/pod-placement-integration"
                                                         : Variable("TEST_TMPDIR") + "/cluster";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::cout << "logs are in " << folder << std::endl;

    kube::Result<> network = EnterOwnNetwork();
    ASSERT_TRUE(network) << network.error();
    auto cluster = ProcessCluster::Start(assets, folder);
    ASSERT_TRUE(cluster) << cluster.error();
    ProcessCluster& started = **cluster;
    SetTheCluster(std::move(*cluster));
    kube::Result<> deployed = started.DeployOperator();
    ASSERT_TRUE(deployed) << deployed.error() << "\n" << started.Describe(started.operator_namespace());
  }

  void TearDown() override { SetTheCluster(nullptr); }
};

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  testing::AddGlobalTestEnvironment(new e2e::ProcessClusterEnvironment);
  return RUN_ALL_TESTS();
}
