// SPDX-License-Identifier: Apache-2.0
// ImageFacts: an object with facts about images, in the operator's namespace. There are several,
// so that a new fact costs a write of a part of them (fact_book.h).
//
// Only the operator's programs read and write them. Their text is read as untrusted: a line that is
// not valid is no fact.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image-facts/image_fact.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace image_facts {

// Of one object. One of facts with usual names has less than 256 KiB then.
inline constexpr size_t kMaxFactsPerObject = 2'048;

class ImageFacts {
 public:
  // Never fails.
  static kube::Result<ImageFacts> FromJson(kube::Json object);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // Identifies the configuration under which the images were read.
  std::string configuration;
  std::vector<ImageFact> facts;

 private:
  kube::meta::ObjectMeta metadata_;
};

// ImageFacts::configuration of the object.
std::string ConfigurationOf(const kube::Json& object);
struct StoredFact {
  FactLine line;
  const placement::SharedPlatforms& platforms;
  std::string_view scope;
};
// Calls `visit` with each valid line of the object.
void ForEachFact(const kube::Json& object, const std::function<void(const StoredFact&)>& visit);

}  // namespace image_facts

template <>
struct kube::ResourceOf<image_facts::ImageFacts> {
  static constexpr Resource value{"multiarch.openshift.io", "v1alpha1", "imagefacts", "ImageFacts"};
};
