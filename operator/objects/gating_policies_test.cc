// SPDX-License-Identifier: Apache-2.0
// The shape of the objects. What they do to pods is tested on a real API server
// (e2e/flows/gating_policies.cc).
#include "operator/objects/gating_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/excluded_namespaces.h"
#include "api/testing/make_config.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/objects/known_images_cel.h"

namespace operator_ {
namespace {

using api::MakeClusterConfig;
using kube::Json;
using testing::HasSubstr;
using testing::Not;

const OperandOptions kOptions{.ns = "ops", .ns_uid = "uid-of-ops"};

std::string NameOf(const DesiredObject& object) { return object.Key().name; }

std::string Mutation(const DesiredObject& policy) {
  return policy.body["spec"]["mutations"][0]["jsonPatch"]["expression"];
}

std::map<std::string, std::string> Conditions(const DesiredObject& policy) {
  std::map<std::string, std::string> conditions;
  for (const Json& condition : policy.body["spec"]["matchConditions"])
    conditions[condition["name"]] = condition["expression"];
  return conditions;
}

std::set<std::string> ConditionNames(const DesiredObject& policy) {
  std::set<std::string> names;
  for (const auto& [name, expression] : Conditions(policy)) names.insert(name);
  return names;
}

const std::set<std::string> kCommon = {"not-an-operand", "not-bound-to-a-node",
                                       "not-for-the-control-plane", "not-of-a-daemonset",
                                       "not-opted-out"};

// A requirement of namespaceSelectors.
const Json kNotOptedOut = {{"key", "multiarch.openshift.io/exclude-pod-placement"},
                           {"operator", "DoesNotExist"}};

std::set<std::string> And(std::set<std::string> names, std::initializer_list<std::string> more) {
  names.insert(more);
  return names;
}

// What holds for each pair of policy and binding.
void ExpectPairs(const DesiredObjects& objects) {
  ASSERT_EQ(objects.size() % 2, 0u);
  for (size_t i = 0; i < objects.size(); i += 2) {
    const DesiredObject& policy = objects[i];
    const DesiredObject& binding = objects[i + 1];
    EXPECT_EQ(policy.body["kind"], "MutatingAdmissionPolicy");
    EXPECT_EQ(binding.body["kind"], "MutatingAdmissionPolicyBinding");
    for (const DesiredObject* object : {&policy, &binding}) {
      EXPECT_EQ(object->body["apiVersion"], "admissionregistration.k8s.io/v1");
      EXPECT_EQ(object->body["metadata"]["ownerReferences"][0]["uid"], "uid-of-ops");
      EXPECT_EQ(object->body["metadata"]["labels"]["app.kubernetes.io/managed-by"],
                "multiarch-tuning-operator");
      EXPECT_EQ(NameOf(*object), NameOf(policy));
      EXPECT_EQ(object->wanted, policy.wanted);
    }
    EXPECT_EQ(binding.body["spec"]["policyName"], NameOf(policy));
    const Json& spec = policy.body["spec"];
    // A failure never blocks the creation of a pod.
    EXPECT_EQ(spec["failurePolicy"], "Ignore");
    EXPECT_EQ(spec["reinvocationPolicy"], "Never");
    EXPECT_EQ(spec["mutations"].size(), 1u);
    EXPECT_EQ(spec["mutations"][0]["patchType"], "JSONPatch");
    // A list of Objects makes the API server panic.
    EXPECT_THAT(kube::DumpJson(spec), Not(testing::ContainsRegex("[^a-z]Object\\.")));
    ASSERT_EQ(spec["matchConstraints"]["resourceRules"].size(), 1u);
    const Json& rule = spec["matchConstraints"]["resourceRules"][0];
    EXPECT_EQ(rule["operations"], Json::array({"CREATE"}));
    // Selectors are parsed for every write to the cluster, unless they belong to the binding.
    EXPECT_EQ(spec["matchConstraints"]["namespaceSelector"], Json::object());
    EXPECT_EQ(spec["matchConstraints"]["objectSelector"], Json::object());
    EXPECT_FALSE(binding.body["spec"]["matchResources"].contains("resourceRules"));
  }
}

const Json& Selector(const DesiredObject& binding, const char* which) {
  return binding.body["spec"]["matchResources"][which];
}

TEST(ClusterGatingPoliciesTest, PodsThatRequireTheirArchitectureAreNotGatedWithoutPreferences) {
  DesiredObjects objects = ClusterGatingPolicies(MakeClusterConfig(), {}, kOptions);
  ExpectPairs(objects);
  ASSERT_EQ(objects.size(), 4u);
  EXPECT_TRUE(objects[0].wanted);
  EXPECT_EQ(NameOf(objects[0]), kClusterGatePolicyName);
  EXPECT_EQ(ConditionNames(objects[0]),
            And(kCommon, {"not-in-a-reserved-namespace", "architecture-not-required"}));
  EXPECT_EQ(objects[0].body["spec"]["matchConstraints"]["resourceRules"][0]["resources"],
            Json::array({"pods"}));
  EXPECT_FALSE(objects[2].wanted);
  EXPECT_EQ(NameOf(objects[2]), kPreferencesGatePolicyName);
}

TEST(ClusterGatingPoliciesTest, PodsOfExcludedNamespacesAreUnchangedWithoutTheLabel) {
  OperandOptions options = kOptions;
  options.excluded_namespaces = *api::ExcludedNamespaces::Parse("openshift-*");
  DesiredObjects objects = ClusterGatingPolicies(MakeClusterConfig(), {"shop"}, options);
  ExpectPairs(objects);
  for (size_t i : {0, 2}) {
    const Json& excluded = objects[i].body["spec"]["variables"].back();
    EXPECT_EQ(excluded["name"], "excluded");
    EXPECT_EQ(excluded["expression"],
              "(request.namespace.startsWith('openshift-')) && "
              "!(has(namespaceObject.metadata.labels) && "
              "'multiarch.openshift.io/include-pod-placement' in namespaceObject.metadata.labels)");
    EXPECT_THAT(Mutation(objects[i]), testing::StartsWith("variables.excluded ? [] : ("));
  }
}

KnownTable Table() {
  KnownTable table;
  table.images = {{"nginx:1", 'a'}};
  table.combinations = {{"a", 0}};
  table.placements = {
      {.node_affinity = {{"x", {1, "y"}}}, .labels = {{"l", ""}}, .annotations = {}}};
  return table;
}

std::map<std::string, std::string> Variables(const DesiredObject& policy) {
  std::map<std::string, std::string> variables;
  for (const Json& variable : policy.body["spec"]["variables"])
    variables[variable["name"]] = variable["expression"];
  return variables;
}

// e2e/flows/gating_policies.cc shows what they do.
TEST(ClusterGatingPoliciesTest, KnownImagesAreInThePolicy) {
  DesiredObjects objects = ClusterGatingPolicies(MakeClusterConfig(), {"shop"}, kOptions, Table());
  auto variables = Variables(objects[0]);
  EXPECT_EQ(variables["images"], "{'nginx:1': 'a'}");
  EXPECT_EQ(variables["combinations"], "{'a': 0}");
  EXPECT_EQ(
      variables["placements"],
      "[dyn({'annotations': dyn({}), 'labels': dyn({'l': dyn('')}), 'nodeAffinity': dyn({'x': "
      "dyn([dyn(1), dyn('y')])})})]");
  EXPECT_EQ(variables["configured"], "['shop']");
  // A webhook may change a pod that was placed.
  EXPECT_EQ(objects[0].body["spec"]["reinvocationPolicy"], "IfNeeded");
  EXPECT_EQ(Variables(objects[2]).count("images"), 0u);
  // Without images, it is as ever.
  EXPECT_EQ(ClusterGatingPolicies(MakeClusterConfig(), {"shop"}, kOptions, {})[0].body,
            ClusterGatingPolicies(MakeClusterConfig(), {"shop"}, kOptions)[0].body);
}

// The review of a namespace's first config waits for it.
TEST(ClusterGatingPoliciesTest, NamespacesWithConfigsAreThoseWithoutPlacing) {
  auto preferring = [](const api::ClusterPodPlacementConfig& config,
                       const std::vector<std::string>& namespaces, const KnownTable& known) {
    DesiredObjects objects = ClusterGatingPolicies(config, namespaces, kOptions, known);
    return PreferringNamespacesOf(objects[0].body,
                                  objects[3].wanted ? objects[3].body : Json::object());
  };
  const std::set<std::string> shop = {"shop"};
  EXPECT_EQ(preferring(MakeClusterConfig(), {"shop"}, Table()), shop);
  EXPECT_EQ(preferring(MakeClusterConfig(), {}, Table()), std::set<std::string>());
  api::ClusterPodPlacementConfig with_preferences = MakeClusterConfig().Prefer("arm64", 1);
  EXPECT_EQ(preferring(with_preferences, {"shop"}, Table()), shop);
  EXPECT_EQ(preferring(with_preferences, {"shop"}, {}), std::nullopt);
  // The policy is written before the binding.
  DesiredObjects before = ClusterGatingPolicies(MakeClusterConfig(), {"shop"}, kOptions, Table());
  DesiredObjects after =
      ClusterGatingPolicies(MakeClusterConfig(), {"db", "shop"}, kOptions, Table());
  EXPECT_EQ(PreferringNamespacesOf(after[0].body, before[3].body), shop);
  EXPECT_EQ(PreferringNamespacesOf(before[0].body, after[3].body), shop);
}

// They are a list in an expression.
TEST(ClusterGatingPoliciesTest, WithVeryManyNamespacesWithConfigsNothingIsPlaced) {
  std::vector<std::string> namespaces;
  for (size_t i = 0; i <= kMaxConfiguredNamespaces; ++i)
    namespaces.push_back("ns" + std::to_string(i));
  DesiredObjects objects =
      ClusterGatingPolicies(MakeClusterConfig(), namespaces, kOptions, Table());
  EXPECT_EQ(Variables(objects[0]).count("images"), 0u);
}

// A copy of another pod, whose preferences nobody has decided.
TEST(ClusterGatingPoliciesTest, ACopiedLabelOfTheLocalGateIsRemoved) {
  DesiredObjects objects = ClusterGatingPolicies(MakeClusterConfig(), {"shop"}, kOptions);
  for (size_t i : {0, 2}) {
    EXPECT_THAT(Mutation(objects[i]),
                HasSubstr("JSONPatch{op: 'remove', path: "
                          "'/metadata/labels/multiarch.openshift.io~1local-scheduling-gate'}"));
  }
}

TEST(ClusterGatingPoliciesTest, APodPlacementConfigAddsAPolicyForItsNamespace) {
  DesiredObjects objects = ClusterGatingPolicies(MakeClusterConfig().ForNamespaces("team", "a"),
                                                 {"db", "shop"}, kOptions);
  ExpectPairs(objects);
  ASSERT_EQ(objects.size(), 4u);
  EXPECT_TRUE(objects[2].wanted);
  EXPECT_EQ(ConditionNames(objects[2]),
            And(kCommon, {"not-in-a-reserved-namespace", "architecture-required"}));
  EXPECT_EQ(Conditions(objects[0])["architecture-not-required"],
            "!" + Conditions(objects[2])["architecture-required"]);
  const Json& selector = Selector(objects[3], "namespaceSelector");
  EXPECT_EQ(selector["matchLabels"], (Json{{"team", "a"}}));
  ASSERT_EQ(selector["matchExpressions"].size(), 3u);
  EXPECT_EQ(selector["matchExpressions"][1], kNotOptedOut);
  EXPECT_EQ(selector["matchExpressions"][2]["operator"], "In");
  EXPECT_EQ(selector["matchExpressions"][2]["values"], Json::array({"db", "shop"}));
}

TEST(ClusterGatingPoliciesTest, PreferencesOfTheClusterNeedOnePolicy) {
  DesiredObjects objects =
      ClusterGatingPolicies(MakeClusterConfig().Prefer("arm64", 5), {"shop"}, kOptions);
  ExpectPairs(objects);
  EXPECT_TRUE(objects[0].wanted);
  EXPECT_EQ(ConditionNames(objects[0]), And(kCommon, {"not-in-a-reserved-namespace"}));
  EXPECT_FALSE(objects[2].wanted);
}

TEST(ClusterGatingPoliciesTest, AddsTheReservedNamespacesToTheConfigsSelector) {
  DesiredObjects objects =
      ClusterGatingPolicies(MakeClusterConfig().ForNamespaces("team", "a"), {}, kOptions);
  const Json& selector = Selector(objects[1], "namespaceSelector");
  EXPECT_EQ(selector["matchLabels"], (Json{{"team", "a"}}));
  ASSERT_EQ(selector["matchExpressions"].size(), 2u);
  EXPECT_EQ(selector["matchExpressions"][1], kNotOptedOut);
  EXPECT_EQ(selector["matchExpressions"][0]["operator"], "NotIn");
  EXPECT_EQ(selector["matchExpressions"][0]["values"],
            Json::array({"ops", "kube-node-lease", "kube-public", "kube-system"}));
  EXPECT_EQ(Selector(objects[1], "objectSelector"), Json::object());
}

TEST(LocalGatingPolicyTest, TheConfigsAreItsParameters) {
  DesiredObjects objects = LocalGatingPolicy({}, kOptions);
  ExpectPairs(objects);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(NameOf(objects[0]), kLocalGatePolicyName);
  EXPECT_EQ(
      objects[0].body["spec"]["paramKind"],
      (Json{{"apiVersion", "multiarch.openshift.io/v1beta1"}, {"kind", "PodPlacementConfig"}}));
  // Without a namespace: that of the pod.
  EXPECT_EQ(objects[1].body["spec"]["paramRef"],
            (Json{{"selector", Json::object()}, {"parameterNotFoundAction", "Allow"}}));
  EXPECT_EQ(Selector(objects[1], "namespaceSelector"),
            (Json{{"matchExpressions", Json::array({kNotOptedOut})}}));
  EXPECT_EQ(ConditionNames(objects[0]), And(kCommon, {"gated-by-policy", "lists-few-configs",
                                                      "selected", "not-constrained-by-the-user"}));
  EXPECT_FALSE(
      objects[0].body["metadata"]["labels"].contains("multiarch.openshift.io/shard-namespace"));
}

TEST(GatingPoliciesTest, PodsThatOptOutAreNotGated) {
  api::ClusterPodPlacementConfig config = MakeClusterConfig();
  config.spec.excluded_scheduler_names = {"volcano", "a/b"};
  for (const DesiredObjects& objects :
       {ClusterGatingPolicies(config, {"shop"}, kOptions),
        LocalGatingPolicy(config.spec.excluded_scheduler_names, kOptions)}) {
    for (size_t i = 0; i < objects.size(); i += 2) {
      std::map<std::string, std::string> conditions = Conditions(objects[i]);
      EXPECT_EQ(conditions["not-opted-out"],
                "!(has(object.metadata.labels) && "
                "'multiarch.openshift.io/exclude-pod-placement' in object.metadata.labels)");
      EXPECT_EQ(conditions["not-of-an-excluded-scheduler"],
                "!has(object.spec.schedulerName) || "
                "!(object.spec.schedulerName in ['volcano', 'a/b'])");
      EXPECT_THAT(Selector(objects[i + 1], "namespaceSelector")["matchExpressions"],
                  testing::Contains(kNotOptedOut));
    }
  }
}

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The API server's time for them grows with the square of the list: minutes for a pod of 3 MB.
TEST(GatingPoliciesTest, ListsAreOnlyWalkedIfTheyAreShort) {
  for (const DesiredObjects& objects :
       {ClusterGatingPolicies(MakeClusterConfig(), {}, kOptions),
        ClusterGatingPolicies(MakeClusterConfig().Prefer("arm64", 5), {}, kOptions),
        LocalGatingPolicy({}, kOptions)}) {
    std::string spec = kube::DumpJson(objects[0].body["spec"]);
    EXPECT_GT(CountOf(".exists(", spec), 1u);
    EXPECT_EQ(CountOf(".exists(", spec) + CountOf(".all(", spec),
              CountOf(") <= 32 && ", spec) + CountOf(") > 100 || ", spec))
        << spec;
  }
}

TEST(GatingProbeTest, TellsTheContentFromBothObjects) {
  DesiredObjects objects = GatingProbe("abc", kOptions);
  ExpectPairs(objects);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_THAT(Mutation(objects[0]), HasSubstr("'abc'"));
  EXPECT_EQ(Selector(objects[1], "objectSelector")["matchLabels"],
            (Json{{"multiarch.openshift.io/gating-probe", "abc"}}));
  EXPECT_EQ(Selector(objects[1], "namespaceSelector")["matchExpressions"][0]["values"],
            Json::array({"ops"}));
  EXPECT_EQ(objects[0].body["spec"]["matchConstraints"]["resourceRules"][0]["resources"],
            Json::array({"deployments"}));
}

}  // namespace
}  // namespace operator_
