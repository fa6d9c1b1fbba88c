// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "kube/cache/informer.h"
#include "kube/types/version_number.h"

namespace image_facts {

// The configuration of the ImageFacts object that was written last: facts of others, until they are
// written too, do not count.
template <class Object>
std::string NewestConfiguration(const kube::Informer<Object>& objects) {
  uint64_t newest = 0;
  std::string configuration;
  objects.ForEach([&](const Object& object) {
    uint64_t version = kube::VersionNumber(object.metadata().resource_version());
    if (version < newest) return;
    newest = version;
    configuration = object.configuration();
  });
  return configuration;
}

}  // namespace image_facts
