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

ManifestOptions AllOptions() {
  return {.ns = "ops",
          .images = {{"operator", "r/o:1"},
                     {"webhook", "r/w:1"},
                     {"shard", "r/s:1"},
                     {"cluster-controller", "r/c:1"}},
          .components = ShippedComponents()};
}

const kube::Json& OperatorContainer(const std::vector<kube::Unstructured>& objects) {
  for (const kube::Unstructured& object : objects) {
    if (kube::StringAt(object.body(), "kind") == "Deployment")
      return kube::Find(object.body(), "spec.template.spec.containers")->front();
  }
  ADD_FAILURE() << "no Deployment";
  static const kube::Json kNone;
  return kNone;
}

TEST(ManifestsTest, EveryManifestThatShipsHasAKnownKind) {
  auto objects = LoadManifests(AllOptions());
  ASSERT_TRUE(objects) << objects.error();
  EXPECT_GE(objects->size(), 20u);
  EXPECT_GE(ShippedComponents().size(), 3u);
  for (const auto& object : *objects) {
    EXPECT_TRUE(ResourceOfObject(object)) << Describe(object);
    EXPECT_FALSE(object.metadata().name().empty()) << object.body();
  }
}

TEST(ManifestsTest, NamespaceAndImagesAreEverywhere) {
  auto objects = LoadManifests(AllOptions());
  ASSERT_TRUE(objects) << objects.error();
  for (const auto& object : *objects) {
    const std::string text = object.body().dump();
    EXPECT_EQ(text.find(api::kDefaultOperatorNamespace), std::string::npos) << text;
    EXPECT_EQ(text.find("localhost/"), std::string::npos) << text;
  }
  EXPECT_EQ(objects->front().metadata().name(), "ops");
  const kube::Json& container = OperatorContainer(*objects);
  EXPECT_EQ(kube::StringAt(container, "image"), "r/o:1");
  EXPECT_NE(container["env"].dump().find("r/c:1"), std::string::npos);
}

TEST(ManifestsTest, AComponentChangesTheBase) {
  auto plain = LoadManifests({});
  ASSERT_TRUE(plain) << plain.error();
  auto with = LoadManifests({.images = {}, .components = {"node-files"}});
  ASSERT_TRUE(with) << with.error();
  EXPECT_EQ(OperatorContainer(*plain)["args"].dump().find("--node-files"), std::string::npos);
  EXPECT_NE(OperatorContainer(*with)["args"].dump().find("--node-files"), std::string::npos);
}

TEST(ManifestsTest, NamesAMissingComponent) {
  auto objects = LoadManifests({.images = {}, .components = {"no-such-thing"}});
  ASSERT_TRUE(FailedWith(objects, Code::kNotFound));
  EXPECT_NE(objects.error().message().find("no-such-thing"), std::string::npos);
}

TEST(ImageReferenceTest, RefusesAFileWithoutAnImage) {
  EXPECT_TRUE(FailedWith(ReadImageReference(WriteTemp("bad.ref", "NAME=x\n")), Code::kInvalid));
  auto reference = ReadImageReference(
      WriteTemp("good.ref", "NAME=p/x\nTAG=0123\nDIGEST=sha256:0123\nARCHITECTURES=amd64,arm64\n"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->digest, "sha256:0123");
  EXPECT_EQ(reference->architectures, "amd64,arm64");
}

}  // namespace
}  // namespace operator_
