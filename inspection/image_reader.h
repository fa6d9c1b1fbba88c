// SPDX-License-Identifier: Apache-2.0
// ReadImage(): reads the platforms of an image from one registry with as few requests as possible:
// one for an index of several images, two for a single image, and two more for each index entry
// that names no platform. Thread: the client's.
#pragma once

#include <string>

#include "inspection/base/use.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/async.h"
#include "placement/platforms.h"

namespace inspection {

struct InspectedImage {
  placement::ImagePlatforms platforms;
  std::string digest;  // of the manifest that the version named
};

// `version`: a tag or a digest. `client` outlives the call.
// Errors: RegistryClient's; kInvalid for a document that is no image, an image without a platform,
// and an index that is nested too deep or names too many documents.
kube::Async<InspectedImage> ReadImage(RegistryClient& client, Repository repository,
                                      std::string version, Use use, kube::TimePoint deadline);

}  // namespace inspection
