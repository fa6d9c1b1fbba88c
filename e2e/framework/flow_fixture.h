// SPDX-License-Identifier: Apache-2.0
// FlowFixture: the fixture of all flows. Each test has its own scene. The operator is deployed, and
// a ClusterPodPlacementConfig that gates the pods of scenes is in effect.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "e2e/framework/conditions.h"
#include "e2e/framework/flow.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "e2e/framework/rules.h"
#include "e2e/framework/steps.h"

namespace e2e {

class FlowFixture : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Additional labels of the scene's namespace.
  virtual Json NamespaceLabels() const { return Json::object(); }

  Cluster& cluster() { return TheCluster(); }
  Scene& scene() { return *scene_; }
  std::string Image(const std::string& name) { return TheCluster().Image(name); }

  // The ClusterPodPlacementConfig of the flows, as a base for variants.
  static ClusterConfigBuilder DefaultClusterConfig();
  // Creates the ClusterPodPlacementConfig or replaces its spec by that of `config`, and waits until
  // it is in effect. `registries_conf` is added to the entry for the registry of the tests, until
  // the next test; pods created immediately may be inspected with the previous text.
  kube::Result<> UseClusterConfig(const ClusterConfigBuilder& config,
                                  const std::string& registries_conf = "");

  // For flows that gate by policies (`gating: Policy`), which Kubernetes before 1.36 cannot do: why
  // the flow is skipped, and "" if it is not.
  //   if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  std::string WhyNoGatingPolicies();

 private:
  std::unique_ptr<Scene> scene_;
};

}  // namespace e2e
