// SPDX-License-Identifier: Apache-2.0
// Registries: the images of a simulation, how their registries fail, and an inspector for each
// process that reads them.
//
//   Registries registries(loop, random.Fork());
//   registries.Set("quay.io/team/app:1", {"amd64", "arm64"});
//   registries.SetMood("quay.io", Registries::Mood::kHangs);
//
// Thread: the Loop's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "sim/base/random.h"

namespace sim {

class Registries {
 public:
  enum class Mood { kAnswers, kRefuses, kThrottles, kHangs };

  explicit Registries(Random random) : random_(random) {}

  // The image is for linux on these architectures from now on; as a tag that was moved.
  void Set(const std::string& image, std::set<std::string> architectures);
  // The registry does not have it.
  void Remove(const std::string& image) { images_.erase(image); }
  // Requests need credentials from now on.
  void MakePrivate(const std::string& host) { private_.insert(host); }
  // From now on. The host is that of an image's name.
  void SetMood(const std::string& host, Mood mood) { moods_[host] = mood; }

  // Asks these registries by `clock`, and keeps answers for a minute. Both outlive it.
  std::unique_ptr<inspection::ImageInspector> NewInspector(kube::Clock& clock);

  // One answer of a registry. Errors: as ImageInspector::Inspect().
  kube::Async<inspection::Inspected> Ask(std::string image, kube::Clock& clock);
  // Requests for the image need no credentials.
  bool IsPublic(const std::string& image) const;
  // The registry is private, and the request has no credentials for it.
  bool Refuses(const inspection::ImageRequest& request) const;

 private:
  kube::Result<inspection::Inspected> Answer(const std::string& image) const;

  Random random_;
  std::map<std::string, std::set<std::string>> images_;
  std::map<std::string, Mood> moods_;
  std::set<std::string> private_;
};

}  // namespace sim
