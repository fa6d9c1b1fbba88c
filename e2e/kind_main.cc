// SPDX-License-Identifier: Apache-2.0
// The kind tier: the flows on the cluster of KUBECONFIG, where the operator is deployed. REGISTRY
// names the registry, as the cluster sees it, that has the demo images.
#include <glog/logging.h>
#include <gtest/gtest.h>

#include "e2e/framework/given_cluster.h"

namespace e2e {
namespace {

class GivenClusterEnvironment : public testing::Environment {
 public:
  void SetUp() override {
    auto cluster = OpenGivenCluster("kind-test");
    ASSERT_TRUE(cluster) << cluster.error();
    SetTheCluster(std::move(*cluster));
  }

  void TearDown() override { SetTheCluster(nullptr); }
};

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  testing::AddGlobalTestEnvironment(new e2e::GivenClusterEnvironment);
  return RUN_ALL_TESTS();
}
