// SPDX-License-Identifier: Apache-2.0
#include "image-facts/stored_version.h"

namespace image_facts {

kube::Result<StoredVersion> StoredVersion::FromJson(kube::Json object) {
  StoredVersion stored;
  stored.metadata_ = Metadata(kube::MetadataFromJson(object));
  return stored;
}

}  // namespace image_facts
