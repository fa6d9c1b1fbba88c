// SPDX-License-Identifier: Apache-2.0
#include "deploy/kustomization.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace deploy {
namespace {

using kube::Code;
using kube::Json;

class KustomizationTest : public testing::Test {
 protected:
  KustomizationTest() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::string(std::getenv("TEST_TMPDIR")) + "/" + test->name();
    Write("a.yaml", "{kind: ConfigMap, metadata: {name: a}, data: {list: [x]}}");
    Write("b.yaml", "{kind: ConfigMap, metadata: {name: b}}");
  }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }

  // The error of a kustomization in the test's folder.
  std::string ErrorOf(const std::string& kustomization, Code code) {
    Write("kustomization.yaml", kustomization);
    std::vector<Json> objects;
    kube::Result<> added = AddKustomization(folder_, objects);
    EXPECT_TRUE(FailedWith(added, code)) << kustomization;
    return added ? "" : added.error().message();
  }

  std::string folder_;
};

TEST_F(KustomizationTest, AddsResourcesOfFilesAndFoldersInOrder) {
  Write("kustomization.yaml", "resources: [sub, b.yaml]\nconfigurations: [fields.yaml]");
  Write("sub/kustomization.yaml", "resources: [../a.yaml]");
  std::vector<Json> objects;
  kube::Result<> added = AddKustomization(folder_, objects);
  ASSERT_TRUE(added) << added.error();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(kube::StringAt(objects[0], "metadata.name"), "a");
  EXPECT_EQ(kube::StringAt(objects[1], "metadata.name"), "b");
}

TEST_F(KustomizationTest, AComponentPatchesWhatIsThereAlready) {
  Write("kustomization.yaml", "resources: [a.yaml, b.yaml]\ncomponents: [more]");
  Write("more/kustomization.yaml", R"(
patches:
- target: {kind: ConfigMap, name: a}
  patch: |
    - {op: add, path: /data/list/-, value: "y"}
- target: {kind: ConfigMap, name: b}
  path: patch.yaml
)");
  Write("more/patch.yaml", "[{op: add, path: /data, value: {z: '1'}}]");
  std::vector<Json> objects;
  kube::Result<> added = AddKustomization(folder_, objects);
  ASSERT_TRUE(added) << added.error();
  EXPECT_EQ(kube::DumpJson(objects[0]["data"]["list"]), R"(["x","y"])");
  EXPECT_EQ(objects[1]["data"]["z"], "1");
}

TEST_F(KustomizationTest, NamesAMissingFile) {
  EXPECT_NE(ErrorOf("resources: [c.yaml]", Code::kNotFound).find("c.yaml"), std::string::npos);
}

TEST_F(KustomizationTest, RefusesWhatItWouldOtherwiseIgnore) {
  EXPECT_NE(ErrorOf("namePrefix: x-", Code::kInvalid).find("namePrefix"), std::string::npos);
  const std::string target = "patches: [{target: {kind: ConfigMap, name: a}, ";
  ErrorOf(target + "options: {}, patch: '[]'}]", Code::kInvalid);
  ErrorOf(target + "patch: '{metadata: {name: a}}'}]", Code::kInvalid);
  ErrorOf("patches: [{target: {kind: ConfigMap}, patch: '[]'}]", Code::kInvalid);
}

TEST_F(KustomizationTest, RefusesAPatchWithoutAnObject) {
  EXPECT_NE(ErrorOf("resources: [a.yaml]\n"
                    "patches: [{target: {kind: ConfigMap, name: c}, patch: '[]'}]",
                    Code::kInvalid)
                .find("\"c\""),
            std::string::npos);
}

TEST_F(KustomizationTest, RefusesAPatchOfAMissingField) {
  ErrorOf(
      "resources: [a.yaml]\npatches: [{target: {kind: ConfigMap, name: a}, "
      "patch: '[{op: replace, path: /data/none, value: 1}]'}]",
      Code::kInvalid);
}

TEST_F(KustomizationTest, RefusesEndlessFolders) {
  EXPECT_NE(ErrorOf("resources: [../" + std::filesystem::path(folder_).filename().string() + "]",
                    Code::kInvalid)
                .find("too many levels"),
            std::string::npos);
}

}  // namespace
}  // namespace deploy
