// SPDX-License-Identifier: Apache-2.0
// The collector of a world: what deletes objects whose owner or namespace is deleted.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kube/types/kinds.h"
#include "sim/cluster/collector.h"
#include "sim/world/world.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

constexpr char kShop[] = "shop";

class DeletionTest : public testing::Test {
 protected:
  DeletionTest() {
    world_.store().Observe([this](const kube::StoreCommit& commit) {
      collector_.OnCommit(commit);
      if (!commit.after) deleted_[commit.key.name] = world_.loop().now() - Loop::kBegin;
    });
    world_.CreateNamespaces({kShop, "other"});
  }

  std::string UidOf(const std::string& ns) {
    return kube::StringAt(*world_.admin().GetJson(kube::kNamespaces, {"", ns}), "metadata.uid");
  }
  void Create(const std::string& ns, const std::string& name, Json metadata = Json::object()) {
    metadata["namespace"] = ns;
    metadata["name"] = name;
    world_.admin().CreateJson(kube::kServices, {{"kind", "Service"}, {"metadata", metadata}});
  }
  Json OwnedBy(const std::string& uid) {
    return {{"ownerReferences", Json::array({{{"kind", "Namespace"}, {"uid", uid}}})}};
  }
  bool Exists(const std::string& ns, const std::string& name) {
    return world_.admin().GetJson(kube::kServices, {ns, name}).has_value();
  }

  World world_{1};
  Collector collector_{world_.loop(), world_.store(), Random(1)};
  std::map<std::string, kube::Duration> deleted_;
};

TEST_F(DeletionTest, ObjectsWithoutALivingOwnerAreDeleted) {
  Create("other", "orphan", OwnedBy("uid-of-nothing"));
  Create("other", "owned", OwnedBy(UidOf(kShop)));
  Json both = OwnedBy("uid-of-nothing");
  both["ownerReferences"].push_back(OwnedBy(UidOf("other"))["ownerReferences"][0]);
  Create("other", "half", both);
  Create("other", "free");
  world_.Pass(10s);
  EXPECT_FALSE(Exists("other", "orphan"));
  EXPECT_TRUE(Exists("other", "owned"));
  EXPECT_TRUE(Exists("other", "half"));
  EXPECT_TRUE(Exists("other", "free"));
  world_.admin().DeleteJson(kube::kNamespaces, {"", kShop});
  world_.Pass(1min);
  EXPECT_FALSE(Exists("other", "owned"));
  EXPECT_TRUE(Exists("other", "half"));
}

TEST_F(DeletionTest, ANamespaceLosesItsContentFirst) {
  for (int i = 0; i < 8; ++i) Create(kShop, "service-" + std::to_string(i));
  world_.admin().DeleteJson(kube::kNamespaces, {"", kShop});
  world_.Pass(5s - 1ms);
  EXPECT_TRUE(deleted_.empty());
  world_.Pass(1min);
  ASSERT_EQ(deleted_.size(), 9u);
  for (const auto& [name, when] : deleted_) EXPECT_LE(when, deleted_.at(kShop)) << name;
  EXPECT_FALSE(world_.admin().GetJson(kube::kNamespaces, {"", kShop}));
}

TEST_F(DeletionTest, ANamespaceWaitsForFinalizers) {
  Create(kShop, "kept", {{"finalizers", {"example.com/mine"}}});
  world_.admin().DeleteJson(kube::kNamespaces, {"", kShop});
  world_.Pass(1min);
  EXPECT_TRUE(world_.admin().GetJson(kube::kNamespaces, {"", kShop}));
  world_.admin().PatchJson(kube::kServices, {kShop, "kept"},
                           {{"metadata", {{"finalizers", nullptr}}}});
  world_.Pass(1min);
  EXPECT_FALSE(world_.admin().GetJson(kube::kNamespaces, {"", kShop}));
}

}  // namespace
}  // namespace sim
