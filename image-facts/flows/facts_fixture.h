// SPDX-License-Identifier: Apache-2.0
// FactsFixture: flows with a registry of their own, whose image team/app:1 runs on s390x alone.
#pragma once

#include <optional>
#include <string>

#include "e2e/framework/flow_fixture.h"
#include "inspection/testing/docker_registry.h"

namespace e2e {

class FactsFixture : public FlowFixture {
 protected:
  void SetUp() override;

  // Of the flows, for this registry.
  kube::Result<> UseConfig(const ClusterConfigBuilder& config);
  // An ImageFacts object has the image.
  Condition IsStored(const std::string& image);
  // The API server would create a pod of the image without a gate, or with one.
  Condition IsPlaced(const std::string& image, bool placed = true);

  std::optional<inspection::DockerRegistry> registry_;
  std::string image_;
};

}  // namespace e2e
