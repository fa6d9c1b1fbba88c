// SPDX-License-Identifier: Apache-2.0
// FlowTest: the fixture of all flows. Each test has a scene of its own, and finds the operator
// deployed and a ClusterPodPlacementConfig at work that gates the pods of scenes.
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

class FlowTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Labels of the scene's namespace, for fixtures that want some.
  virtual Json NamespaceLabels() const { return Json::object(); }

  Cluster& cluster() { return TheCluster(); }
  Scene& scene() { return *scene_; }
  std::string Image(const std::string& name) { return TheCluster().Image(name); }

  // The cluster's config as flows have it, to build variants on.
  static ClusterConfigBuilder UsualClusterConfig();
  // Makes the spec of the cluster's config that of `config`, creating it where there is none, and
  // waits until it works. `registries_conf`: what it says beside the registry of the tests, until
  // the next test. Pods that come at once may meet the text before it.
  kube::Result<> UseClusterConfig(const ClusterConfigBuilder& config,
                                  const std::string& registries_conf = "");

 private:
  std::unique_ptr<Scene> scene_;
};

}  // namespace e2e
