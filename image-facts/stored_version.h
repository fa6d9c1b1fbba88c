// SPDX-License-Identifier: Apache-2.0
// StoredVersion: name and version of an ImageFacts object, for a watch that only wants to know
// which objects have changed. Nothing else is kept: members of a fleet write the rest.
//
//   kube::MetadataLists metadata(client);
//   kube::Informer<StoredVersion> versions(
//       metadata, clock, {.ns = ns, .resource = kube::ResourceOf<ImageFacts>::value});
#pragma once

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace image_facts {

class StoredVersion {
 public:
  // Never fails.
  static kube::Result<StoredVersion> FromJson(kube::Json object);
  kube::Json ToJson() const { return kube::Json::object(); }  // never written

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }

 private:
  kube::meta::ObjectMeta metadata_;
};

}  // namespace image_facts
