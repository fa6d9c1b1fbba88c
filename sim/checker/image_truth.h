// SPDX-License-Identifier: Apache-2.0
// ImageTruth: what each image reference was, and whether its registry answered, as functions of
// time. The world's knowledge, against which the model judges what pods require.
//
//   ImageTruth images;
//   images.SetPlatforms("r.io/app:1", 0s, {{.platforms = {{"linux", "amd64"}}}});
//   images.SetRegistry("r.io", 60s, Registry::kFails);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/checker/commit.h"

namespace sim::checker {

struct ImagePlatform {
  std::string os, architecture;

  auto operator<=>(const ImagePlatform&) const = default;
};

struct Image {
  std::vector<ImagePlatform> platforms;
  // An index or manifest list, which counts for image volumes too.
  bool index = true;
  // An operator bundle: no program.
  bool bundle = false;

  bool operator==(const Image&) const = default;
};

enum class Registry {
  kAnswers,
  kFails,
  // Fails for a part of the requests.
  kFlaky,
};

class ImageTruth {
 public:
  // From `from` on; nullopt: the registry has no such image (404). Calls are in the order of time.
  void SetPlatforms(const std::string& reference, Time from, std::optional<Image> image);
  // `registry`: the part of references before the first slash.
  void SetRegistry(const std::string& registry, Time from, Registry state);

  // What an inspection may have found between these times, each value once. If `stale_for` is not
  // zero and the registry may have failed in the time, also what the reference was in the time
  // `stale_for` before `from`.
  std::vector<Image> Found(const std::string& reference, Time from, Time to, Time stale_for) const;
  // Whether an inspection may have failed between these times.
  bool MayFail(const std::string& reference, Time from, Time to) const;

 private:
  template <typename T>
  using Changes = std::vector<std::pair<Time, T>>;

  std::vector<std::optional<Image>> ImagesDuring(const std::string& reference, Time from,
                                                 Time to) const;
  std::vector<Registry> RegistryDuring(const std::string& reference, Time from, Time to) const;

  std::map<std::string, Changes<std::optional<Image>>> images_;
  std::map<std::string, Changes<Registry>> registries_;
};

}  // namespace sim::checker
