// SPDX-License-Identifier: Apache-2.0
// ImageFinder: the platforms of the images of pods: as the cluster knows them, else as their
// registries say, with the credentials of the pods. Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "plugin/images/known_images.h"
#include "plugin/images/pod_image.h"
#include "plugin/inspect/image_asker.h"
#include "plugin/inspect/registry_access.h"

namespace plugin {

struct ImageFinderOptions {
  std::string operator_namespace;
  // What the cluster does not know is asked of registries, from this machine.
  bool asks_registries = true;
  // Called before each question with a line for people; may be empty.
  std::function<void(const std::string&)> progress = {};
};

class ImageFinder {
 public:
  // The references outlive it.
  ImageFinder(kube::Client& client, kube::Executor executor, kube::Clock& clock,
              ImageFinderOptions options);

  // Of each image of the pod once. Errors: kCancelled.
  kube::Async<std::vector<PodImage>> Find(const kube::core::Pod& pod, const KnownImages& known);

  // The newest tag of the image's repository that is for linux on this architecture, of the newest
  // five after the image's own (newer_tags.h); "" if there is none. Asks registries, whatever the
  // options say. Errors: kCancelled.
  kube::Async<std::string> FindNewer(const kube::core::Pod& pod, std::string image,
                                     std::string architecture);

  // What could not be read on the way, each once.
  const std::vector<Unread>& unread() const { return unread_; }

 private:
  kube::Async<PodImage> Ask(const kube::core::Pod& pod, std::string image, bool only_volume);
  // What the questions about the images of the pod need. The result is the key of its keyring.
  kube::Async<std::string> Prepare(const kube::core::Pod& pod);

  kube::Client& client_;
  kube::Clock& clock_;
  ImageFinderOptions options_;
  ImageAsker asker_;
  std::optional<ClusterAccess> cluster_;
  // By the pod's namespace and pull secrets.
  std::map<std::string, inspection::SharedKeyring> keyrings_;
  // By the image, and the same.
  std::map<std::string, PodImage> asked_;
  std::map<std::string, std::string> newer_;
  std::vector<Unread> unread_;
};

}  // namespace plugin
