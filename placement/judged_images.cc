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

SharedPlatforms Without(const ImagePlatforms& platforms, const ArchitectureSet& wrong) {
  ImagePlatforms right = platforms;
  std::erase_if(right.platforms, [&](const Platform& platform) {
    return platform.os == kLinux && wrong.contains(platform.architecture);
  });
  return std::make_shared<const ImagePlatforms>(std::move(right));
}

bool HaveOneInCommon(const ArchitectureSet& a, const ArchitectureSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) { return b.contains(one); });
}

}  // namespace

JudgedPlatforms CommonOf(std::span<const JudgedImage> images, const ArchitectureSet& offered) {
  std::vector<SharedPlatforms> promised, right;
  bool has_findings = false;
  for (const JudgedImage& image : images) {
    promised.push_back(image.platforms);
    right.push_back(image.wrong.empty() ? image.platforms : Without(*image.platforms, image.wrong));
    has_findings = has_findings || !image.wrong.empty();
  }
  JudgedPlatforms judged{.common = Common(promised)};
  if (!has_findings || judged.common.every) return judged;
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
