// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/commit.h"

namespace sim::checker {

void Commit::SetCollection(std::string_view path) {
  constexpr std::string_view kApis = "/apis/";
  std::string_view of_group = path.substr(0, path.rfind('/'));  // without the plural
  plural = path.substr(of_group.size() + (of_group.size() < path.size() ? 1 : 0));
  group.clear();
  if (!of_group.starts_with(kApis)) return;
  of_group.remove_prefix(kApis.size());
  group = of_group.substr(0, of_group.find('/'));
}

}  // namespace sim::checker
