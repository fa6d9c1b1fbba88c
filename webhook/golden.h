// SPDX-License-Identifier: Apache-2.0
// The test cases in webhook/testdata: NAME.input.json is an AdmissionReview, NAME.output.json the
// expected result. Names with the prefix "cluster_" are for the cluster's webhook, those with
// "local_" for PodPlacementConfig "prefs" of namespace "web". A new case is two new files.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace webhook {

inline constexpr char kTestdata[] = "webhook/testdata";

inline std::string ReadTestFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

}  // namespace webhook
