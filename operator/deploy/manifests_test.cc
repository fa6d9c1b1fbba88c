// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/manifests.h"

#include <gtest/gtest.h>

#include "api/names.h"

namespace operator_ {
namespace {

using kube::Code;

deploy::ManifestOptions AllOptions() {
  return {.ns = "ops",
          .images = {{"operator", "r/o:1"},
                     {"webhook", "r/w:1"},
                     {"shard", "r/s:1"},
                     {"cluster-controller", "r/c:1"},
                     {"console", "r/p:1"},
                     {"exec-format-monitor", "r/m:1"}},
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
    EXPECT_TRUE(deploy::ResourceOfObject(object)) << deploy::Describe(object);
    EXPECT_FALSE(object.metadata().name().empty()) << object.body();
  }
}

TEST(ManifestsTest, NamespaceAndImagesAreEverywhere) {
  auto objects = LoadManifests(AllOptions());
  ASSERT_TRUE(objects) << objects.error();
  for (const auto& object : *objects) {
    const std::string text = kube::DumpJson(object.body());
    EXPECT_EQ(text.find(api::kDefaultOperatorNamespace), std::string::npos) << text;
    EXPECT_EQ(text.find("localhost/"), std::string::npos) << text;
  }
  EXPECT_EQ(objects->front().metadata().name(), "ops");
  const kube::Json& container = OperatorContainer(*objects);
  EXPECT_EQ(kube::StringAt(container, "image"), "r/o:1");
  EXPECT_NE(kube::DumpJson(container["env"]).find("r/c:1"), std::string::npos);
}

TEST(ManifestsTest, AComponentChangesTheBase) {
  auto plain = LoadManifests({});
  ASSERT_TRUE(plain) << plain.error();
  auto with = LoadManifests({.images = {}, .components = {"node-files"}});
  ASSERT_TRUE(with) << with.error();
  EXPECT_EQ(kube::DumpJson(OperatorContainer(*plain)["args"]).find("--node-files"),
            std::string::npos);
  EXPECT_NE(kube::DumpJson(OperatorContainer(*with)["args"]).find("--node-files"),
            std::string::npos);
}

// Whoever wants it in single namespaces leaves the second component out, also after an upgrade.
TEST(ManifestsTest, TheRightToCreateTokensIsAComponentOfItsOwn) {
  auto bindings = [](std::vector<std::string> components) {
    auto objects = LoadManifests({.images = {}, .components = std::move(components)});
    EXPECT_TRUE(objects) << objects.error();
    int count = 0;
    for (const auto& object : *objects) {
      if (object.metadata().name() == "pod-placement-controller-tokens" &&
          kube::StringAt(object.body(), "kind") == "ClusterRoleBinding")
        ++count;
    }
    return count;
  };
  EXPECT_EQ(bindings({"service-account-tokens"}), 0);
  EXPECT_EQ(bindings({"service-account-tokens", "service-account-tokens-cluster-wide"}), 1);
}

TEST(ManifestsTest, NamesAMissingComponent) {
  auto objects = LoadManifests({.images = {}, .components = {"no-such-thing"}});
  ASSERT_TRUE(FailedWith(objects, Code::kNotFound));
  EXPECT_NE(objects.error().message().find("no-such-thing"), std::string::npos);
}

}  // namespace
}  // namespace operator_
