// SPDX-License-Identifier: Apache-2.0
// NamedFacts: the facts of one ImageFacts object that serve every pod, with the names of the
// images. As an API kind it is what an informer caches.
#pragma once

#include <string>
#include <vector>

#include "image-facts/image_fact.h"
#include "image-facts/image_facts.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "placement/platforms.h"

namespace image_facts {

struct NamedFact {
  std::string image;  // inspection::Reference::ToString()
  placement::SharedPlatforms platforms;
  Seconds read{};
  std::string scope = {};  // "", or that of the whole cluster
};

class NamedFacts {
 public:
  // Never fails.
  static kube::Result<NamedFacts> FromJson(kube::Json object);
  kube::Json ToJson() const { return kube::Json::object(); }  // never written

  const std::vector<NamedFact>& facts() const { return facts_; }
  const std::string& configuration() const { return configuration_; }
  const kube::meta::ObjectMeta& metadata() const { return metadata_; }

 private:
  kube::meta::ObjectMeta metadata_;
  std::string configuration_;
  std::vector<NamedFact> facts_;
};

}  // namespace image_facts

template <>
struct kube::ResourceOf<image_facts::NamedFacts> {
  static constexpr Resource value = ResourceOf<image_facts::ImageFacts>::value;
};
