// SPDX-License-Identifier: Apache-2.0
// FactIndex: the facts of one ImageFacts object for lookups by name and scope, in 16 bytes a fact.
// As an API kind it is what an informer caches, so the cache is the index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image-facts/image_fact.h"
#include "image-facts/image_facts.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "placement/platforms.h"

namespace image_facts {

// Of an image's name and the fact's scope, with a secret key of the process: nobody can choose a
// name that has the hash of another one.
uint64_t HashOf(std::string_view image, std::string_view scope = "");

class FactIndex {
 public:
  struct Fact {
    placement::SharedPlatforms platforms;
    Seconds read;
  };

  // Never fails.
  static kube::Result<FactIndex> FromJson(kube::Json object);
  kube::Json ToJson() const { return kube::Json::object(); }  // never written

  std::optional<Fact> Find(uint64_t hash) const;
  size_t size() const { return entries_.size(); }
  const std::string& configuration() const { return configuration_; }

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }

 private:
  struct Entry {
    uint64_t hash;
    uint32_t read;  // seconds since 1970
    uint32_t platforms;
  };

  kube::meta::ObjectMeta metadata_;
  std::string configuration_;
  std::vector<Entry> entries_;  // by hash
  std::vector<placement::SharedPlatforms> platforms_;
};

}  // namespace image_facts

template <>
struct kube::ResourceOf<image_facts::FactIndex> {
  static constexpr Resource value = ResourceOf<image_facts::ImageFacts>::value;
};
