// SPDX-License-Identifier: Apache-2.0
#include "image-facts/stored_version.h"

namespace image_facts {

kube::Result<StoredVersion> StoredVersion::FromJson(kube::Json object) {
  StoredVersion stored;
  const kube::meta::ObjectMeta metadata = kube::MetadataFromJson(object);
  stored.metadata_.set_name(metadata.name());
  stored.metadata_.set_namespace_(metadata.namespace_());
  stored.metadata_.set_resource_version(metadata.resource_version());
  return stored;
}

}  // namespace image_facts
