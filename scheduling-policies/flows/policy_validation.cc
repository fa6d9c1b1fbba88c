// SPDX-License-Identifier: Apache-2.0
// What a user sees who writes scheduling policies with kubectl: kupid's policies apply unchanged,
// wrong ones are refused, and warnings are shown.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "kube/codec/yaml.h"
#include "scheduling-policies/flows/policy_conditions.h"
#include "scheduling-policies/flows/policy_flow.h"

namespace e2e {
namespace {

using kube::Ok;
using kube::Result;
using policy::kClusterPodSchedulingPolicies;
using policy::kPodSchedulingPolicies;

constexpr char kKupidPolicies[] = "scheduling-policies/flows/testdata/kupid_policies.yaml";
// Required anti-affinity to pods of the other namespaces that are labelled team=db.
constexpr char kAntiAffinity[] = R"({"podSelector": {}, "affinity": {"podAntiAffinity":
    {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname",
     "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "db"}}}]}}})";

class PolicyValidationFlow : public PolicyFlow {
 protected:
  // `kubectl apply` of a file in the scene's namespace.
  Finished Apply(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {
        "apply", "--filename=" + file, "--namespace=" + scene().ns(),
        "--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig()};
    args.insert(args.end(), more.begin(), more.end());
    auto finished = RunToEnd({.path = std::string(std::getenv("KUBEBUILDER_ASSETS")) + "/kubectl",
                              .args = std::move(args)});
    EXPECT_TRUE(finished) << finished.error();
    return finished ? *finished : Finished{.status = 1};
  }
  Finished Apply(const Resource& kind, const std::string& name, const std::string& spec) {
    Json object = {{"apiVersion", kind.ApiVersion()},
                   {"kind", std::string(kind.kind)},
                   {"metadata", {{"name", name}}},
                   {"spec", kube::MustParseJson(spec)}};
    std::string file = testing::TempDir() + "/policy.json";
    std::ofstream(file) << kube::DumpJson(object);
    return Apply(file);
  }
  // kubectl's warnings, in one text.
  static std::string WarningsIn(const std::string& output) {
    std::string warnings;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Warning: ")) warnings += line + "\n";
    }
    return warnings;
  }
  void MakeQuota(const std::string& name, const std::string& pods) {
    Json quota = {{"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", {{"name", name}}}};
    quota["spec"]["hard"]["pods"] = pods;
    quota["spec"]["scopeSelector"]["matchExpressions"] =
        Json::array({{{"scopeName", "CrossNamespacePodAffinity"}, {"operator", "Exists"}}});
    Flow(scene(), "a quota")
        .Do(Create(kResourceQuotas, quota))
        .Await({"the quota is in force", [name](Scene& scene) -> Result<> {
                  auto found = scene.Get(kResourceQuotas, name);
                  if (!found) return found.error();
                  if (kube::Find(*found, "status.used.pods") != nullptr) return Ok();
                  return kube::Error::NotFound("its status");
                }});
  }
};

TEST_F(PolicyValidationFlow, KupidsPoliciesApplyUnchanged) {
  // kubectl's own check refuses unknown fields of any kind.
  Finished applied = Apply(kKupidPolicies, {"--validate=warn"});
  ASSERT_EQ(applied.status, 0) << applied.output;
  EXPECT_NE(applied.output.find("unknown field \"spec.foo\""), std::string::npos) << applied.output;

  std::ifstream file(kKupidPolicies);
  std::stringstream text;
  text << file.rdbuf();
  auto documents = kube::ParseYamlDocuments(text.str());
  ASSERT_TRUE(documents) << documents.error();
  EXPECT_EQ(documents->size(), 12u);
  for (Json& document : *documents) {
    bool of_cluster = document["kind"] == std::string(kClusterPodSchedulingPolicies.kind);
    auto stored = scene().Get(of_cluster ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies,
                              document["metadata"]["name"]);
    ASSERT_TRUE(stored) << stored.error();
    document["spec"].erase("foo");
    EXPECT_EQ((*stored)["spec"], document["spec"]) << document["metadata"];
  }
  applied = Apply(kKupidPolicies, {"--validate=ignore"});
  EXPECT_EQ(applied.status, 0) << applied.output;
}

TEST_F(PolicyValidationFlow, ARefusalNamesTheField) {
  Finished refused =
      Apply(kPodSchedulingPolicies, "by-the-crd", R"({"tolerations": [{"operator": "Equal"}]})");
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.output.find("spec.tolerations[0]"), std::string::npos) << refused.output;
  refused = Apply(kPodSchedulingPolicies, "by-the-webhook", R"({"nodeSelector": {"-": "v"}})");
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.output.find("validate-podschedulingpolicy.kupid.gardener.cloud"),
            std::string::npos)
      << refused.output;
  EXPECT_NE(refused.output.find("spec.nodeSelector"), std::string::npos) << refused.output;

  // An update cannot make a policy wrong; its metadata may change.
  Finished applied = Apply(kPodSchedulingPolicies, "good", R"({"nodeSelector": {"a": "v"}})");
  EXPECT_EQ(applied.status, 0) << applied.output;
  Flow(scene(), "a good policy")
      .Refused(Change(kPodSchedulingPolicies, "good", {{"spec", {{"nodeSelector", {{"-", "v"}}}}}}),
               {"spec.nodeSelector", "not a valid label key"})
      .Do(Change(kPodSchedulingPolicies, "good", {{"metadata", {{"labels", {{"a", "b"}}}}}}));
}

TEST_F(PolicyValidationFlow, WarningsAreShown) {
  const std::string no_effect = "no effect until plugins.schedulingPolicies";
  const std::string spec = R"({"podSelector": {}, "nodeSelector": {"pool": "db"}})";
  Finished applied = Apply(kPodSchedulingPolicies, "p", spec);
  EXPECT_EQ(applied.status, 0) << applied.output;
  EXPECT_NE(WarningsIn(applied.output).find(no_effect), std::string::npos) << applied.output;

  EnablePolicies();
  applied = Apply(kPodSchedulingPolicies, "q", spec);
  EXPECT_EQ(applied.status, 0) << applied.output;
  EXPECT_EQ(WarningsIn(applied.output), "");

  applied = Apply(kClusterPodSchedulingPolicies, "p", spec);
  EXPECT_NE(WarningsIn(applied.output).find("spec.namespaceSelector is absent"), std::string::npos)
      << applied.output;
  Json everywhere = kube::MustParseJson(kAntiAffinity);
  everywhere["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
            ["namespaceSelector"] = Json::object();
  applied = Apply(kPodSchedulingPolicies, "apart", kube::DumpJson(everywhere));
  EXPECT_EQ(applied.status, 0) << applied.output;
  EXPECT_NE(WarningsIn(applied.output).find("pods of all namespaces"), std::string::npos)
      << applied.output;
}

// The API server says how many there are.
TEST_F(PolicyValidationFlow, TheNumberOfPoliciesOfANamespaceIsLimited) {
  for (int i = 0; i < 256; ++i) {
    auto created =
        scene().Create(kPodSchedulingPolicies, MakePolicy("p" + std::to_string(i), "one"));
    ASSERT_TRUE(created) << created.error();
  }
  Flow(scene(), "a full namespace")
      .Refused(Create(kPodSchedulingPolicies, MakePolicy("more", "one")),
               {"has 256 PodSchedulingPolicies", "at most 256 are allowed"})
      .Do(Delete(kPodSchedulingPolicies, "p0"))
      .Do(Create(kPodSchedulingPolicies, MakePolicy("more", "one")));
}

TEST_F(PolicyValidationFlow, AQuotaWithoutRoomIsAWarning) {
  EnablePolicies();
  MakeQuota("roomy", "5");
  Finished applied = Apply(kPodSchedulingPolicies, "first", kAntiAffinity);
  EXPECT_EQ(WarningsIn(applied.output), "");
  MakeQuota("none", "0");
  applied = Apply(kPodSchedulingPolicies, "second", kAntiAffinity);
  EXPECT_EQ(applied.status, 0) << applied.output;
  const std::string warning = "are refused in namespace " + scene().ns() +
                              ": ResourceQuota none has no room (pods: 0 of 0 used)";
  EXPECT_NE(WarningsIn(applied.output).find(warning), std::string::npos) << applied.output;

  // A cluster policy of this namespace alone.
  Json spec = kube::MustParseJson(kAntiAffinity);
  spec["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = scene().ns();
  applied = Apply(kClusterPodSchedulingPolicies, "third", kube::DumpJson(spec));
  EXPECT_NE(WarningsIn(applied.output).find(warning), std::string::npos) << applied.output;
  spec["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = "default";
  applied = Apply(kClusterPodSchedulingPolicies, "fourth", kube::DumpJson(spec));
  EXPECT_EQ(WarningsIn(applied.output), "");
}

}  // namespace
}  // namespace e2e
