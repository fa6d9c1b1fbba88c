// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/node_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "inspection/testing/test_folder.h"
#include "kube/testing/matchers.h"

namespace inspection {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeFilesTest : public TestFolder {
 protected:
  NodeFilesTest() {
    paths_ = {.registries_conf = root_ + "/registries.conf",
              .certs_dirs = {root_ + "/certs.d"},
              .policy = root_ + "/policy.json",
              .containerd_certs_dir = root_ + "/containerd",
              .credential_provider_config = root_ + "/providers.yaml",
              .credential_provider_bin_dir = root_ + "/bin"};
  }

  NodeFilePaths paths_;
  InspectorConfig config_;
};

TEST_F(NodeFilesTest, MissingFilesAreEmpty) {
  ASSERT_THAT(ReadNodeFiles(paths_, config_), IsOk());
  InspectorConfig empty;
  empty.credential_providers.bin_dir = paths_.credential_provider_bin_dir;
  EXPECT_EQ(config_, empty);
  EXPECT_THAT(ReadNodeFiles({}, config_), IsOk());
  EXPECT_EQ(config_, InspectorConfig());
}

TEST_F(NodeFilesTest, DropInsAreSortedByName) {
  Write("registries.conf", "one");
  Write("registries.conf.d/20.conf", "three");
  Write("registries.conf.d/10.conf", "two");
  Write("registries.conf.d/10.conf.bak", "no");
  ASSERT_THAT(ReadNodeFiles(paths_, config_), IsOk());
  EXPECT_EQ(config_.registries_conf, "one");
  EXPECT_THAT(config_.registries_conf_drop_ins, ElementsAre("two", "three"));
}

TEST_F(NodeFilesTest, AChangeOfAnyFileChangesTheConfiguration) {
  ASSERT_THAT(ReadNodeFiles(paths_, config_), IsOk());
  for (const char* path :
       {"registries.conf", "policy.json", "certs.d/r.io/ca.crt", "containerd/r.io/ca.crt"}) {
    InspectorConfig before = config_;
    Write(path, "x");
    ASSERT_THAT(ReadNodeFiles(paths_, config_), IsOk());
    EXPECT_FALSE(config_ == before) << path;
  }
}

TEST_F(NodeFilesTest, AnUnreadableFileIsNamed) {
  Write("registries.conf/x", "a folder in place of the file");
  EXPECT_THAT(ReadNodeFiles(paths_, config_),
              FailsWith(Code::kInvalid, HasSubstr("registries.conf")));
  std::filesystem::remove_all(root_ + "/registries.conf");
  Write("providers.yaml", "kind: Other");
  EXPECT_THAT(ReadNodeFiles(paths_, config_),
              FailsWith(Code::kInvalid, HasSubstr("credential provider config")));
}

TEST_F(NodeFilesTest, ProvidersThatNeedTokensAreUsedOnlyIfAllowed) {
  Write("providers.yaml", R"(
kind: CredentialProviderConfig
providers:
- name: p
  matchImages: [r.io]
  defaultCacheDuration: 1h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  tokenAttributes: {serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: true}
)");
  ASSERT_THAT(ReadNodeFiles(paths_, config_), IsOk());
  EXPECT_EQ(config_.credential_providers.providers.size(), 0u);
  EXPECT_EQ(config_.credential_providers.skipped.size(), 1u);
  paths_.service_account_tokens = true;
  ASSERT_THAT(ReadNodeFiles(paths_, config_), IsOk());
  EXPECT_EQ(config_.credential_providers.providers.size(), 1u);
  EXPECT_EQ(config_.credential_providers.skipped.size(), 0u);
}

}  // namespace
}  // namespace inspection
