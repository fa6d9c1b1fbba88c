// SPDX-License-Identifier: Apache-2.0
// ImageReader: reads from one registry what an image says of its platforms, with as few requests as
// that takes: one for an index of several images, two for a single image. Thread: the client's.
#pragma once

#include <string>
#include <vector>

#include "inspection/manifest.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/async.h"

namespace inspection {

struct ImagePlatforms {
  std::vector<Platform> platforms;  // sorted, each once
  bool bundle = false;              // an operator bundle: for every platform
  std::string digest;               // of the manifest that the version named
};

class ImageReader {
 public:
  explicit ImageReader(RegistryClient& client) : client_(client) {}

  // `version`: a tag or a digest.
  // Errors: RegistryClient's; kInvalid for what is no image, or names no platform at all, or nests
  // indexes too deep.
  kube::Async<ImagePlatforms> Read(Repository repository, std::string version,
                                   kube::TimePoint deadline);

 private:
  kube::Async<ImagePlatforms> ReadAt(Repository repository, std::string version, int depth,
                                     kube::TimePoint deadline);
  kube::Async<ImagePlatforms> ReadIndex(Repository repository, Manifest index, int depth,
                                        kube::TimePoint deadline);
  kube::Async<ImagePlatforms> ReadConfig(Repository repository, Descriptor config,
                                         kube::TimePoint deadline);

  RegistryClient& client_;
};

}  // namespace inspection
