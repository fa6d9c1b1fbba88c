// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/access/agent_access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fleet {
namespace {

using kube::Json;

TEST(RefusedNameTest, RefusesTheNamespacesOfOthers) {
  for (const char* name :
       {"default", "kube", "kube-system", "kube-public", "openshift", "openshift-monitoring", "hub",
        "", "-c1", "c1-", "C1", "a.b", "a/b", "a b", "\xc3\xa9"}) {
    EXPECT_TRUE(RefusedName(name, "hub")) << name;
  }
  EXPECT_TRUE(RefusedName(std::string(64, 'a'), "hub"));
  for (const char* name : {"c1", "1", "east-1", "kubernetes", "hub2", "defaults"})
    EXPECT_FALSE(RefusedName(name, "hub")) << name;
  EXPECT_FALSE(RefusedName(std::string(63, 'a'), "hub"));
}

TEST(ClusterNamespaceTest, HasTheLabelWithItsOwnName) {
  EXPECT_TRUE(IsClusterNamespace(ClusterNamespace("c1")));
  Json other = ClusterNamespace("c1");
  other["metadata"]["name"] = "c2";
  EXPECT_FALSE(IsClusterNamespace(other));
  for (const char* text :
       {R"({})", R"({"metadata": {"name": "c1"}})", R"({"metadata": {"name": "c1", "labels": []}})",
        R"({"metadata": {"name": "c1", "labels":
                               {"open-cluster-management.io/cluster-name": 1}}})",
        R"({"metadata": {"labels":
                               {"open-cluster-management.io/cluster-name": ""}}})"}) {
    EXPECT_FALSE(IsClusterNamespace(kube::MustParseJson(text))) << text;
  }
}

TEST(AgentAccessTest, ReachesOneNamespaceAndOneManagedCluster) {
  std::vector<Json> objects = AgentAccess("c1");
  ASSERT_EQ(objects.size(), kAgentAccessResources.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    const kube::Resource& resource = kAgentAccessResources[i];
    EXPECT_EQ(objects[i]["kind"], std::string(resource.kind));
    EXPECT_EQ(objects[i]["apiVersion"], resource.ApiVersion());
    EXPECT_EQ(kube::StringAt(objects[i], "metadata.namespace"), resource.namespaced ? "c1" : "");
    EXPECT_EQ(objects[i]["metadata"]["labels"][std::string(kClusterNameLabel)], "c1");
  }
  Json agent = kube::MustParseJson(
      R"([{"kind": "ServiceAccount", "name": "multiarch-fleet-agent", "namespace": "c1"}])");
  EXPECT_EQ(objects[0]["metadata"]["name"], "multiarch-fleet-agent");
  EXPECT_EQ(objects[1]["metadata"]["name"], "multiarch-fleet-agent");
  EXPECT_EQ(objects[1]["roleRef"]["name"], "multiarch-fleet-agent");
  EXPECT_EQ(objects[1]["subjects"], agent);
  EXPECT_EQ(objects[2]["metadata"]["name"], "multiarch-fleet-agent:c1");
  EXPECT_EQ(objects[2]["rules"], kube::MustParseJson(R"([
      {"apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters"],
       "resourceNames": ["c1"], "verbs": ["get", "list", "watch"]},
      {"apiGroups": ["cluster.open-cluster-management.io"],
       "resources": ["managedclusters/status"], "resourceNames": ["c1"], "verbs": ["patch"]},
      {"apiGroups": ["multiarch.openshift.io"], "resources": ["imagefacts"],
       "resourceNames": ["shared-image-facts", "shared-image-facts-0", "shared-image-facts-1",
                         "shared-image-facts-2", "shared-image-facts-3", "shared-image-facts-4",
                         "shared-image-facts-5", "shared-image-facts-6", "shared-image-facts-7"],
       "verbs": ["get"]}])"));
  EXPECT_EQ(objects[3]["metadata"]["name"], "multiarch-fleet-agent:c1");
  EXPECT_EQ(objects[3]["roleRef"], kube::MustParseJson(R"({"apiGroup": "rbac.authorization.k8s.io",
      "kind": "ClusterRole", "name": "multiarch-fleet-agent:c1"})"));
  EXPECT_EQ(objects[3]["subjects"], agent);
}

}  // namespace
}  // namespace fleet
