// SPDX-License-Identifier: Apache-2.0
// ImageInspector: finds out which platforms an image can run on.
//
//   auto inspector = NewImageInspector(executor, clock);
//   ImageRequest request{.image = "quay.io/team/app:1"};
//   Result<Inspected> inspected = co_await inspector->Inspect(std::move(request));
//
// Results are cached: by digest while there is room, and by tag and credentials for kTagLifetime.
// So a tag tells a namespace nothing that its own credentials do not; who names a digest gets the
// platforms of that image without credentials.
// While a registry fails, what a tag named is used for kStaleLifetime.
// Equal requests at the same time are not joined here, but by their caller, with SharingKey().
// Thread: the executor's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "inspection/base/outage.h"
#include "inspection/base/timing.h"
#include "inspection/base/use.h"
#include "inspection/cloud/cloud_options.h"
#include "inspection/config/account_tokens.h"
#include "inspection/config/credentials.h"
#include "inspection/config/inspector_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "placement/platforms.h"

namespace inspection {

class RegistryClient;
struct Repository;

// The reason of the error if the pod is gone that the image was inspected for: it says nothing
// about other pods with the same SharingKey().
inline constexpr std::string_view kPodGone = "PodGone";

// Gets the place and the digest of an image that was read from a registry. The references outlive
// the call.
using ImageVisit = std::function<kube::Async<>(RegistryClient& client, const Repository& repository,
                                               std::string digest)>;

struct ImageRequest {
  std::string image;           // as named in the pod, untrusted
  Use use = Use::kContainer;   // why it is read: base/use.h
  bool always_pull = false;    // ask the registry for the current digest of a tag
  SharedKeyring keyring = {};  // the credentials that the pod may use
  SharedPodIdentity pod = {};  // for credential providers that need its service account
  // For those that want to know more about an image: called once it was read. Then nothing is taken
  // from the cache, a failure is not kept, and an error of the call is one of the place.
  ImageVisit visit = {};
};

struct Inspected {
  placement::SharedPlatforms platforms;  // at least one platform
  // Not empty: the registry's failure, and how old `platforms` are, which were used instead.
  std::string stale = {};
  // Of the manifest or index; "" if no registry has told it.
  std::string digest = {};
};

// What a registry has said about an image for containers.
struct ImageAnswer {
  std::string image;   // Reference::ToString()
  std::string digest;  // of the manifest or index
  placement::SharedPlatforms platforms;
};

// An answer, of the registry or from the cache, and to what request.
struct Learned {
  ImageAnswer answer;
  // Who has all credentials with which it was looked for; every pod, if there are none.
  Holders holders = Holders::kEveryPod;
  // There are none: the registry tells everybody.
  bool anonymous = true;
  // When the registry said so. For an image that is named by its digest: when it was known that
  // the credentials are those with which it was read.
  kube::TimePoint read;
  SharedPodIdentity pod = {};  // the request's
  bool always_pull = false;    // the request's
};

struct InspectorOptions {
  // Timeout for one inspection, all requests and retries together.
  std::chrono::milliseconds timeout = kInspectionTimeout;
  // Before that: timeout for its credentials, from plugins and clouds. What is not there by then is
  // not used.
  std::chrono::milliseconds credentials_timeout = kCredentialsTimeout;
  // How many manifests and configs larger than 256 KiB may be in memory at a time; further ones
  // wait. Smaller ones never wait.
  size_t large_bodies = 8;
  // Images and tags in the cache, each.
  size_t capacity = 4096;
  // For providers with tokenAttributes; null if the configuration has none. Outlives the inspector.
  AccountTokens* account_tokens = nullptr;
  // Registries of clouds that are read with this process's own identity.
  CloudOptions cloud;
  // Called with a line of text for each request and each choice of a mirror or credential; never
  // with a secret. May be empty.
  std::function<void(const std::string&)> trace;
};

class ImageInspector {
 public:
  virtual ~ImageInspector() = default;

  // Errors, each with the image, the registry and the cause:
  // kInvalid (the name, or what the registry sent), kNotFound, kUnauthenticated and
  // kPermissionDenied (credentials, or blocked by configuration or policy), kThrottled,
  // kUnavailable (with the reason kPodGone, see there), kDeadlineExceeded, kCancelled.
  virtual kube::Async<Inspected> Inspect(ImageRequest request) = 0;
  // The same without a request to a registry; nullopt if that needs one.
  virtual std::optional<kube::Result<Inspected>> Cached(const ImageRequest& request) = 0;
  // Equal for requests that may share one call of Inspect(): the same image under the same
  // configuration, with the same credentials for the places where it is looked for. Other keys
  // after each change of the configuration, which may change these places.
  virtual std::string SharingKey(const ImageRequest& request) const = 0;

  // `learned` is called with each answer, also if it is as before; `configured` after each change
  // of Configuration().
  virtual void Observe(std::function<void(Learned)> learned, std::function<void()> configured) = 0;
  // Puts into the cache what another inspector has learned under the same configuration, without
  // credentials, `age` ago.
  virtual void Restore(const ImageAnswer& image, kube::Duration age) = 0;
  // Identifies the configuration: equal for configurations under which an image is read from the
  // same places. Not empty.
  virtual const std::string& Configuration() const = 0;

  // Replaces the configuration and drops all that was cached under the previous one. kInvalid says
  // what does not parse; the previous configuration stays in use then.
  virtual kube::Result<void> SetConfig(InspectorConfig config) = 0;
};

// The registry in an image's name ("docker.io" where it has none), for fairness between registries;
// "" for an invalid name.
std::string RegistryOf(const std::string& image);

std::unique_ptr<ImageInspector> NewImageInspector(kube::Executor executor, kube::Clock& clock,
                                                  InspectorOptions options = {});

}  // namespace inspection
