// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/node_file_flags.h"

#include <gflags/gflags.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/node_file_flags.h"

namespace inspection {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

TEST(NodeFileFlagsTest, AreTheFlagsThatTheOperatorSets) {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::vector<std::string> ours;
  for (const gflags::CommandLineFlagInfo& flag : all) {
    if (!flag.filename.ends_with("node_file_flags.cc")) continue;
    ours.push_back(flag.name);
    std::replace(ours.back().begin(), ours.back().end(), '_', '-');
  }
  EXPECT_THAT(ours, UnorderedElementsAreArray(api::kNodeFileFlags));
}

TEST(NodeFileFlagsTest, EachFlagSetsItsPath) {
  for (const char* flag : {"registries_conf", "policy", "containerd_certs_dir",
                           "credential_provider_config", "credential_provider_bin_dir"}) {
    gflags::SetCommandLineOption(flag, flag);
  }
  gflags::SetCommandLineOption("certs_dir", "one,two");
  NodeFilePaths paths = NodeFilesFromFlags();
  EXPECT_EQ(paths.registries_conf, "registries_conf");
  EXPECT_THAT(paths.certs_dirs, ElementsAre("one", "two"));
  EXPECT_EQ(paths.policy, "policy");
  EXPECT_EQ(paths.containerd_certs_dir, "containerd_certs_dir");
  EXPECT_EQ(paths.credential_provider_config, "credential_provider_config");
  EXPECT_EQ(paths.credential_provider_bin_dir, "credential_provider_bin_dir");
}

}  // namespace
}  // namespace inspection
