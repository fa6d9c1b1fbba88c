// SPDX-License-Identifier: Apache-2.0
// ReadImage(): reads the platforms of an image from one registry with as few requests as possible:
// one for an index of several images, two for a single image. Thread: the client's.
#pragma once

#include <string>
#include <vector>

#include "inspection/base/manifest.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/async.h"

namespace inspection {

struct ImagePlatforms {
  std::vector<Platform> platforms;  // sorted, each once
  bool bundle = false;              // an operator bundle: for every platform
  std::string digest;               // of the manifest that the version named
};

// `version`: a tag or a digest. `client` outlives the call.
// Errors: RegistryClient's; kInvalid for a document that is no image, an image without a platform,
// and indexes nested too deep.
kube::Async<ImagePlatforms> ReadImage(RegistryClient& client, Repository repository,
                                      std::string version, kube::TimePoint deadline);

}  // namespace inspection
