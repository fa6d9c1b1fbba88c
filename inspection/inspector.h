// SPDX-License-Identifier: Apache-2.0
// ImageInspector: which architectures can an image run on?
//
//   auto inspector = NewImageInspector(executor, clock);
//   ImageRequest request{.image = "quay.io/team/app:1", .os = "linux"};
//   Result<ArchitectureSet> runs_on = co_await inspector->Architectures(std::move(request));
//
// What an image says is kept: by digest as long as there is room, by tag for a while and per
// credentials, so that no namespace profits from another's. Questions about one image at one time
// are asked once. Thread: the executor's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "inspection/config/credentials.h"
#include "inspection/config/inspector_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "placement/architecture.h"

namespace inspection {

struct ImageRequest {
  std::string image;         // as the pod names it, untrusted
  std::string os = "linux";  // entries for another operating system don't count
  bool always_pull = false;  // ask the registry what a tag means now
  SharedKeyring keyring;     // what this pod may use
};

struct InspectorOptions {
  // Of one inspection, all requests and retries together.
  std::chrono::milliseconds timeout{30'000};
  // How long a tag's meaning is believed without asking.
  std::chrono::milliseconds tag_ttl{60'000};
  // How long a failure is: so that the pods of a Deployment don't each ask in vain.
  std::chrono::milliseconds error_ttl{1'000};
  // Manifests and configs of more than 256 KiB in memory at a time; further ones wait. The others
  // never do.
  size_t large_bodies = 8;
  // Images and tags that are remembered, each.
  size_t capacity = 4096;
  // Told of each request and each choice (mirror, credential), for people; never holds a secret.
  // May be empty.
  std::function<void(const std::string&)> trace;
};

struct InspectorStats {
  uint64_t requests = 0;        // to registries
  uint64_t token_requests = 0;  // to token servers
};

class ImageInspector {
 public:
  virtual ~ImageInspector() = default;

  // Returns: sorted GOARCH names; empty if the image is for other operating systems only, which is
  // not an error. Errors, each naming image, registry and cause: kInvalid (the name; what the
  // registry sent), kNotFound, kUnauthenticated and kPermissionDenied (credentials, blocked by
  // configuration or policy), kThrottled, kUnavailable, kDeadlineExceeded, kCancelled.
  virtual kube::Async<placement::ArchitectureSet> Architectures(ImageRequest request) = 0;
  // The same if no registry need be asked for it, else nullopt.
  virtual std::optional<kube::Result<placement::ArchitectureSet>> Remembered(
      const ImageRequest& request) = 0;

  // From now on; nothing learnt under another configuration is used. kInvalid names what does not
  // parse, and nothing changes then.
  virtual kube::Result<void> SetConfig(InspectorConfig config) = 0;

  // Since the last SetConfig() that changed something.
  virtual InspectorStats stats() const = 0;
};

// The registry in an image's name ("docker.io" where it has none); "" if it is no name. For taking
// turns, not for asking.
std::string RegistryOf(const std::string& image);

std::unique_ptr<ImageInspector> NewImageInspector(kube::Executor executor, kube::Clock& clock,
                                                  InspectorOptions options = {});

}  // namespace inspection
