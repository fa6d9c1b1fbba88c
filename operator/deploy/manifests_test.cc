// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/manifests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace operator_ {
namespace {

using kube::Code;

std::string WriteTemp(const std::string& name, const std::string& text) {
  std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(SubstituteTest, ReplacesEveryVariable) {
  EXPECT_EQ(*Substitute("a ${X}-${Y}${X}", {{"X", "1"}, {"Y", "2"}}), "a 1-21");
}

TEST(SubstituteTest, NamesTheVariableWithoutValue) {
  auto filled = Substitute("image: ${OPERATOR_IMAGE}", {});
  ASSERT_TRUE(FailedWith(filled, Code::kInvalid));
  EXPECT_NE(filled.error().message().find("OPERATOR_IMAGE"), std::string::npos);
}

TEST(ManifestsTest, EveryManifestThatShipsHasAKnownKind) {
  std::vector<std::string> files = {
      "operator/manifests/namespace.yaml", "operator/manifests/rbac.yaml",
      "operator/manifests/operator.yaml", "api/crds/podplacementconfigs.yaml",
      "api/crds/clusterpodplacementconfigs.yaml"};
  auto objects = LoadManifests(files, {{"NAMESPACE", "ops"},
                                       {"ARCHITECTURE", "amd64"},
                                       {"OPERATOR_IMAGE", "o"},
                                       {"WEBHOOK_IMAGE", "w"},
                                       {"SHARD_IMAGE", "s"},
                                       {"CONTROLLER_IMAGE", "c"}});
  ASSERT_TRUE(objects) << objects.error();
  EXPECT_GE(objects->size(), 6u);
  for (const auto& object : *objects) {
    EXPECT_TRUE(ResourceOfObject(object)) << Describe(object);
    EXPECT_FALSE(object.metadata().name().empty()) << object.body();
  }
}

TEST(ManifestsTest, NamesAMissingFile) {
  auto objects = LoadManifests({"nowhere.yaml"}, {});
  ASSERT_TRUE(FailedWith(objects, Code::kNotFound));
  EXPECT_NE(objects.error().message().find("nowhere.yaml"), std::string::npos);
}

TEST(ImageReferenceTest, RefusesAFileWithoutAnImage) {
  EXPECT_TRUE(FailedWith(ReadImageReference(WriteTemp("bad.ref", "NAME=x\n")), Code::kInvalid));
  auto reference =
      ReadImageReference(WriteTemp("good.ref", "NAME=p/x\nTAG=0123\nDIGEST=sha256:0123\n"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->digest, "sha256:0123");
}

}  // namespace
}  // namespace operator_
