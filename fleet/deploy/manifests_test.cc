// SPDX-License-Identifier: Apache-2.0
#include "fleet/deploy/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using Objects = std::vector<kube::Unstructured>;

struct Product {
  deploy::ManifestSet set;
  std::string image;
};

class ManifestsTest : public testing::TestWithParam<Product> {
 protected:
  Objects Load(std::vector<std::string> components) {
    auto objects = deploy::LoadManifests(GetParam().set, {.ns = "elsewhere",
                                                          .images = {{GetParam().image, "r/i:1"}},
                                                          .components = std::move(components)});
    EXPECT_TRUE(objects) << objects.error();
    return objects ? *objects : Objects();
  }
  Objects All() { return Load(deploy::ShippedComponents(GetParam().set)); }
};

TEST_P(ManifestsTest, EveryObjectHasAKnownKindTheNamespaceAndTheImage) {
  Objects objects = All();
  EXPECT_GE(objects.size(), 8u);
  EXPECT_EQ(objects.front().metadata().name(), "elsewhere");
  for (const kube::Unstructured& object : objects) {
    auto resource = deploy::ResourceOfObject(object);
    ASSERT_TRUE(resource) << deploy::Describe(object);
    if (resource->namespaced) {
      EXPECT_EQ(object.metadata().namespace_(), "elsewhere") << deploy::Describe(object);
    }
    std::string text = kube::DumpJson(object.body());
    EXPECT_EQ(text.find("\"" + GetParam().set.ns + "\""), std::string::npos) << text;
    EXPECT_EQ(text.find("localhost/"), std::string::npos) << text;
  }
}

TEST_P(ManifestsTest, EveryComponentChangesTheBase) {
  Objects base = Load({});
  std::vector<std::string> components = deploy::ShippedComponents(GetParam().set);
  EXPECT_GE(components.size(), 4u);
  for (const std::string& component : components) {
    Objects with = Load({component});
    bool changed = with.size() > base.size();
    for (size_t i = 0; i < base.size() && i < with.size(); ++i)
      changed = changed || with[i].body() != base[i].body();
    EXPECT_TRUE(changed) << component;
  }
}

TEST_P(ManifestsTest, ThePodsAreRestricted) {
  int deployments = 0;
  for (const kube::Unstructured& object : All()) {
    const Json* pod = kube::Find(object.body(), "spec.template.spec");
    if (pod == nullptr) continue;
    ++deployments;
    EXPECT_TRUE(kube::BoolAt(*pod, "securityContext.runAsNonRoot"));
    EXPECT_EQ(kube::StringAt(*pod, "securityContext.seccompProfile.type"), "RuntimeDefault");
    for (const Json& container : pod->at("containers")) {
      EXPECT_FALSE(kube::BoolAt(container, "securityContext.allowPrivilegeEscalation", true));
      EXPECT_TRUE(kube::BoolAt(container, "securityContext.readOnlyRootFilesystem"));
      EXPECT_EQ(container["securityContext"]["capabilities"]["drop"], Json::array({"ALL"}));
      for (const char* field : {"resources.limits.memory", "resources.requests.cpu"})
        EXPECT_NE(kube::StringAt(container, field), "") << field;
      for (const char* field : {"readinessProbe", "livenessProbe"})
        EXPECT_TRUE(container.contains(field)) << field;
    }
  }
  EXPECT_EQ(deployments, 1);
}

// Roles name what they allow; only the agent reads a Secret, its own.
TEST_P(ManifestsTest, NoRoleAllowsMoreThanItNames) {
  int rules = 0;
  for (const kube::Unstructured& object : All()) {
    const Json* list = kube::Find(object.body(), "rules");
    if (list == nullptr) continue;
    for (const Json& rule : *list) {
      ++rules;
      std::string text = kube::DumpJson(rule);
      EXPECT_EQ(text.find('*'), std::string::npos) << text;
      for (const char* verb : {"escalate", "impersonate", "deletecollection"})
        EXPECT_EQ(text.find(verb), std::string::npos) << text;
      if (text.find("\"secrets\"") == std::string::npos) continue;
      EXPECT_EQ(rule["resourceNames"], Json::array({"multiarch-fleet-hub"})) << text;
      EXPECT_EQ(object.body()["kind"], "Role");
    }
  }
  EXPECT_GE(rules, 5);
}

INSTANTIATE_TEST_SUITE_P(Fleet, ManifestsTest,
                         testing::Values(Product{HubManifests(), "fleet-hub"},
                                         Product{AgentManifests(), "fleet-agent"}),
                         [](const auto& info) {
                           return info.param.image == "fleet-hub" ? "Hub" : "Agent";
                         });

// With every membership, also OCM's: the agents of the fleet are the same.
TEST(HubManifestsTest, LimitsAgentsWithoutAnyOption) {
  auto objects = deploy::LoadManifests(HubManifests(), {.images = {{"fleet-hub", "r/i:1"}}});
  ASSERT_TRUE(objects) << objects.error();
  std::vector<std::string> found;
  for (const kube::Unstructured& object : *objects) {
    if (object.metadata().name() == "multiarch-fleet-agent-limits")
      found.push_back(kube::StringAt(object.body(), "kind"));
  }
  EXPECT_THAT(found, testing::UnorderedElementsAre("ValidatingAdmissionPolicy",
                                                   "ValidatingAdmissionPolicyBinding"));
}

TEST(ObjectsToDeleteTest, CrdsAreKept) {
  auto objects = ObjectsToDelete(HubManifests(), /*crds=*/false);
  ASSERT_TRUE(objects) << objects.error();
  bool has_policy = false;
  for (const kube::Unstructured& object : *objects) {
    std::string kind = kube::StringAt(object.body(), "kind");
    EXPECT_NE(kind, "CustomResourceDefinition");
    has_policy = has_policy || object.metadata().name() == "multiarch-fleet-accept";
  }
  EXPECT_TRUE(has_policy) << "of the component own-membership";
}

TEST(ObjectsToDeleteTest, OfTheCrdsThoseThatOnlyAFleetHas) {
  auto objects = ObjectsToDelete(HubManifests(), /*crds=*/true);
  ASSERT_TRUE(objects) << objects.error();
  std::set<std::string> crds;
  for (const kube::Unstructured& object : *objects) {
    if (kube::StringAt(object.body(), "kind") == "CustomResourceDefinition")
      crds.insert(object.metadata().name());
  }
  EXPECT_TRUE(crds.contains("managedclusters.cluster.open-cluster-management.io"));
  EXPECT_FALSE(crds.contains("imagefacts.multiarch.openshift.io"));
}

}  // namespace
}  // namespace fleet
