// SPDX-License-Identifier: Apache-2.0
// Facts for tests, and their objects in a fake API server.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "image-facts/image_facts.h"
#include "kube/testing/fake_api_server.h"
#include "placement/architecture.h"
#include "placement/platforms.h"

namespace image_facts {

// Of an image for linux.
inline placement::SharedPlatforms OnLinux(const placement::ArchitectureSet& architectures) {
  placement::ImagePlatforms platforms;
  for (const std::string& architecture : architectures)
    platforms.platforms.push_back({"linux", architecture});
  return std::make_shared<const placement::ImagePlatforms>(std::move(platforms));
}

inline std::string DigestOf(char digit) { return "sha256:" + std::string(64, digit); }

// Creates the object, or replaces its facts.
inline void StoreFacts(kube::FakeApiServer& api, const std::string& ns, const std::string& name,
                       std::vector<ImageFact> facts, const std::string& configuration) {
  ImageFacts object;
  object.mutable_metadata()->set_name(name);
  object.mutable_metadata()->set_namespace_(ns);
  object.configuration = configuration;
  object.facts = std::move(facts);
  if (auto stored = api.Get<ImageFacts>({ns, name})) {
    object.mutable_metadata()->set_resource_version(stored->metadata().resource_version());
    api.Update(object);
  } else {
    api.Create(object);
  }
}

}  // namespace image_facts
