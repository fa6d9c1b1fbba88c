// SPDX-License-Identifier: Apache-2.0
#include "placement/judged_images.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace placement {
namespace {

SharedPlatforms Right(const JudgedImage& image) {
  if (image.wrong.empty() && image.amd64_level == 0) return image.platforms;
  ImagePlatforms right = *image.platforms;
  std::erase_if(right.platforms, [&](const Platform& platform) {
    return platform.os == kLinux && image.wrong.contains(platform.architecture);
  });
  for (Platform& platform : right.platforms) {
    if (platform.os == kLinux && platform.architecture == kAmd64)
      platform.amd64_level = std::max(platform.amd64_level, image.amd64_level);
  }
  return std::make_shared<const ImagePlatforms>(std::move(right));
}

bool HaveOneInCommon(const ArchitectureSet& a, const ArchitectureSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) { return b.contains(one); });
}

}  // namespace

JudgedPlatforms CommonOf(std::span<const JudgedImage> images, const ArchitectureSet& offered) {
  std::vector<SharedPlatforms> promised, right;
  for (const JudgedImage& image : images) {
    promised.push_back(image.platforms);
    right.push_back(Right(image));
  }
  JudgedPlatforms judged{.common = Common(promised)};
  if (promised == right || judged.common.every) return judged;
  const ArchitectureSet before = judged.common.On(std::string(kLinux));
  CommonPlatforms found = Common(right);
  const ArchitectureSet& after = found.On(std::string(kLinux));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::inserter(judged.avoided, judged.avoided.end()));
  judged.believes_indexes =
      after.empty() ? !before.empty()
                    : HaveOneInCommon(before, offered) && !HaveOneInCommon(after, offered);
  if (!judged.believes_indexes) judged.common = std::move(found);
  return judged;
}

}  // namespace placement
