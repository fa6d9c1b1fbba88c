// SPDX-License-Identifier: Apache-2.0
// The kind tier: the flows on the cluster of KUBECONFIG, with the operator deployed. REGISTRY is
// the cluster's address of the registry with the demo images.
#include <gtest/gtest.h>

#include "e2e/framework/given_cluster.h"
#include "e2e/framework/run_flows.h"

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
  return e2e::RunFlows(argc, argv, std::make_unique<e2e::GivenClusterEnvironment>());
}
