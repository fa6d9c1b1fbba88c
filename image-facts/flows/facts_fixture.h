// SPDX-License-Identifier: Apache-2.0
// FactsFixture: flows with a registry of their own, whose image team/app:1 runs on s390x alone.
// PrivateFactsFixture: the registry wants the user "u" with the password "secret".
#pragma once

#include <optional>
#include <string>

#include "api/known_images.h"
#include "e2e/framework/flow_fixture.h"
#include "inspection/testing/docker_registry.h"

namespace e2e {

class FactsFixture : public FlowFixture {
 protected:
  void SetUp() override;
  virtual bool WantsPassword() const { return false; }

  // Of the flows, for this registry.
  kube::Result<> UseConfig(const ClusterConfigBuilder& config);
  // An ImageFacts object has the image.
  Condition IsStored(const std::string& image);
  // The API server would create the pod, or one of the image, without a gate, or with one.
  Condition IsPlaced(const PodBuilder& pod, bool placed = true);
  Condition IsPlaced(const std::string& image, bool placed = true) {
    return IsPlaced(MakePod("probe").Image(image), placed);
  }
  // Whether one of the states of the pod had a gate.
  static Condition WasGated(const std::string& pod, bool wanted = true);
  static ClusterConfigBuilder PlacingConfig() {
    return DefaultClusterConfig().Set("/spec/knownImages", api::kPlaceKnownImages);
  }

  std::optional<inspection::DockerRegistry> registry_;
  std::string image_;
};

class PrivateFactsFixture : public FactsFixture {
 protected:
  bool WantsPassword() const override { return true; }

  Step CreateSecret(const std::string& name, const std::string& password) {
    return Create(kSecrets, PullSecret(name, DockerConfig(registry_->host(), "u", password)));
  }
};

}  // namespace e2e
