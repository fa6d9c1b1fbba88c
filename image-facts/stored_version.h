// SPDX-License-Identifier: Apache-2.0
// StoredVersion: name and version of an ImageFacts object, for a watch that only wants to know
// which objects have changed. Nothing else is kept: members of a fleet write the rest.
//
//   kube::MetadataLists metadata(client);
//   kube::Informer<StoredVersion> versions(
//       metadata, clock, {.ns = ns, .resource = kube::ResourceOf<ImageFacts>::value});
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace image_facts {

class StoredVersion {
 public:
  // As kube::meta::ObjectMeta, which needs half a KiB more.
  class Metadata {
   public:
    Metadata() = default;
    explicit Metadata(const kube::meta::ObjectMeta& metadata)
        : ns_(metadata.namespace_()),
          name_(metadata.name()),
          resource_version_(metadata.resource_version()) {}

    const std::string& namespace_() const { return ns_; }
    const std::string& name() const { return name_; }
    const std::string& resource_version() const { return resource_version_; }

   private:
    std::string ns_;
    std::string name_;
    std::string resource_version_;
  };

  // Never fails.
  static kube::Result<StoredVersion> FromJson(kube::Json object);
  kube::Json ToJson() const { return kube::Json::object(); }  // never written

  const Metadata& metadata() const { return metadata_; }

 private:
  Metadata metadata_;
};

}  // namespace image_facts
