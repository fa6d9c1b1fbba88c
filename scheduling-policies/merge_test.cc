// SPDX-License-Identifier: Apache-2.0
// The examples of merging, in the notation of scheduling-policies/testing/words.h. Their numbers
// are those of the contract of scheduling policies; target_test.cc has the others.
#include "scheduling-policies/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kube/types/core.pb.h"
#include "placement/requirement.h"
#include "scheduling-policies/testing/words.h"

namespace policy {
namespace {

using kube::Json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Policies = std::vector<SchedulingPolicy>;

Policies PoliciesOf(const std::vector<std::string>& words) {
  Policies policies;
  for (const std::string& one : words) policies.push_back(PolicyOf(one));
  std::sort(policies.begin(), policies.end(), Precedes);
  return policies;
}

MergeResult MergeAll(const Json& spec, const Policies& policies) {
  std::vector<const SchedulingPolicy*> pointers;
  for (const SchedulingPolicy& policy : policies) pointers.push_back(&policy);
  auto result = Merge(spec, "/spec", pointers);
  EXPECT_TRUE(result) << result.error();
  return result ? *result : MergeResult();
}

// The spec after merging. Merging the result again must change nothing.
Json Merged(const Json& spec, const Policies& policies) {
  Json pod = {{"spec", spec}};
  Json once = Patched(pod, MergeAll(spec, policies).patch);
  EXPECT_EQ(MergeAll(once["spec"], policies).patch, "")
      << kube::DumpJson(spec) << " became " << kube::DumpJson(once["spec"]);
  return once["spec"];
}

TEST(MergeTest, Examples) {
  struct Example {
    int number;
    std::vector<std::string> policies;
    const char* pod;
    const char* result;  // "=": unchanged
  };
  const Example examples[] = {
      {10, {"N k:v"}, "-", "k:v"},
      {11, {"N k:v m:w"}, "k:x", "k:x m:w"},
      {12, {"N k:n", "C k:c"}, "-", "k:c"},
      {13, {"N-b k:b", "N-a k:a"}, "-", "k:a"},
      {14, {"N a/b:v"}, "k:v", "k:v a/b:v"},
      {14, {"N a/b:v"}, "-", "a/b:v"},
      {15, {"N node=n"}, "node=m", "="},
      {16, {"N node=n"}, "gate", "="},
      {17, {"N node=n k:v"}, "-", "node=n k:v"},
      {17, {"N node=n k:v"}, "node=n k:v", "="},
      {18, {"N sched=s"}, "sched=default-scheduler", "sched=s"},
      {18, {"N sched=s"}, "-", "sched=s"},
      {19, {"N sched=s"}, "sched=other", "="},
      {20, {"C sched=s", "N sched=r"}, "sched=default-scheduler", "sched=s"},
      {21, {"C sched=default-scheduler", "N sched=r"}, "sched=default-scheduler", "="},
      {22, {"N [x]"}, "-", "[x]"},
      {23, {"N [x]"}, "[a,b]", "[x,a,b]"},
      {24, {"N [d][e,f:n]"}, "[a,b][c]", "[d,a,b][e,a,b,f:n][d,c][e,c,f:n]"},
      {25, {"N [d][e,f:n]"}, "[d,a,b][e,a,b,f:n][d,c][e,c,f:n]", "="},
      {26, {"N [x][y]"}, "[x,a]", "="},
      {27, {"N [x]"}, "[x][a]", "[x][x,a]"},
      {28, {"N [x][y]"}, "[x][y]", "="},
      {29, {"N [z:1]"}, "[z:2]", "[z:1,z:2]"},
      {30, {"N [x]"}, "[]", "="},
      {31, {"N [x]"}, "[][a]", "[x,a]"},
      {32, {"N [z:1|2]"}, "[z:2|1]", "="},
      {33, {"N [f:n]"}, "[a]", "[a,f:n]"},
      {34, {"C [x]", "N [y]"}, "[a]", "[y,x,a]"},
      {37, {"N P9[a]"}, "P9[a]", "="},
      {38, {"N P8[a]"}, "P9[a]", "P9[a] P8[a]"},
      {39, {"N P9[a]"}, "[b]", "[b] P9[a]"},
      {40, {"N T"}, "T", "="},
      {41, {"N T(all)"}, "T", "T T(all)"},
      {42, {"N T(1|2)"}, "T(2|1)", "="},
      {43, {"N A"}, "[a] P9[b]", "[a] P9[b] A"},
      {44, {"N T(keys)"}, "-", "T(keys)"},
      {44, {"N T(keys)"}, "T(keys)", "="},
      {45, {"N t(k=v)"}, "t(k==v)", "="},
      {46, {"N t(k~30)"}, "t(k~60)", "="},
      {47, {"N t(not-ready~3600)"}, "t(not-ready~300)", "t(not-ready~3600)"},
      {50, {"N [x] t(k=v)"}, "node=m", "node=m t(k=v)"},

      // Beyond the contract's examples. Terms of the policy alone: equal ones once, order kept.
      {0, {"N [x][y][x]"}, "-", "[x][y]"},
      {0, {"N [x,x]"}, "-", "[x]"},
      {0,
       {"N []"
        "[x]"},
       "[a]",
       "[x,a]"},
      // An empty term that matches nothing stays where nothing else changes.
      {0, {"N [x]"}, "[][x,a]", "="},
      // Merged terms that become equal.
      {0, {"N [x]"}, "[a][x,a]", "[x,a]"},
      {0, {"N [z:1|2]"}, "[z:2|1,a][b]", "[z:2|1,a][z:1|2,b]"},
      // The node name of a policy does not hide the criteria of the next one.
      {0, {"C node=n", "N k:v [x]"}, "-", "node=n k:v [x]"},
      {0, {"C node=n", "N node=m"}, "-", "node=n"},
      {0, {"N node=n k:v"}, "gate", "gate k:v"},
      // The cluster's own words on automatic tolerations win over the namespace's.
      {0, {"C t(not-ready~300)", "N t(not-ready~9)"}, "t(not-ready~300)", "="},
      {0, {"C t(not-ready~9)", "N t(not-ready~8)"}, "t(not-ready~300)", "t(not-ready~9)"},
      {0,
       {"N t(not-ready~)"},
       "t(unreachable~300) t(not-ready~300)",
       "t(unreachable~300) t(not-ready~)"},
      {0, {"N t(k~300)"}, "t(k~60)", "="},
      {0, {"N t(k~300)"}, "t(k~)", "="},
      {0, {"C t(k=v)", "N t(k==v) t(l=)"}, "-", "t(k=v) t(l=)"},
      {0, {"N T5 A T(all)"}, "T A7", "T A7 T5 A T(all)"},
      {0, {"N T T"}, "-", "T"},
  };
  for (const Example& example : examples) {
    Json pod = SpecOf(example.pod);
    Json expected = std::string(example.result) == "=" ? pod : SpecOf(example.result);
    EXPECT_EQ(Merged(pod, PoliciesOf(example.policies)), expected)
        << example.number << ": " << ::testing::PrintToString(example.policies) << " into "
        << example.pod;
  }
}

TEST(MergeTest, ThePatchIsMinimal) {
  struct Case {
    std::vector<std::string> policies;
    const char* pod;
    const char* patch;
  };
  const Case cases[] = {
      {{"N a/b:v"}, "k:v", R"([{"op":"add","path":"/spec/nodeSelector/a~1b","value":"v"}])"},
      {{"N a/b:v"}, "-", R"([{"op":"add","path":"/spec/nodeSelector","value":{"a/b":"v"}}])"},
      {{"N sched=s"},
       "sched=default-scheduler",
       R"([{"op":"replace","path":"/spec/schedulerName","value":"s"}])"},
      {{"N t(k=v)"},
       "t(l=w)",
       R"([{"op":"add","path":"/spec/tolerations/-","value":{"key":"k","value":"v"}}])"},
      {{"N t(not-ready~9) t(k=v)"},
       "t(l=w) t(not-ready~300)",
       R"([{"op":"replace","path":"/spec/tolerations/1","value":{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":9}},)"
       R"({"op":"add","path":"/spec/tolerations/-","value":{"key":"k","value":"v"}}])"},
      {{"N P9[a]"},
       "[b]",
       R"([{"op":"add","path":"/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution","value":[{"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]},"weight":9}]}])"},
      {{"N [x]"},
       "[x,b][a]",
       R"([{"op":"replace","path":"/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/1","value":{"matchExpressions":[{"key":"x","operator":"Exists"},{"key":"a","operator":"Exists"}]}}])"},
      {{"N k:v"}, "k:w", ""},
  };
  for (const Case& c : cases)
    EXPECT_EQ(MergeAll(SpecOf(c.pod), PoliciesOf(c.policies)).patch, c.patch) << c.pod;
}

TEST(MergeTest, ThePathIsThatOfThePodSpec) {
  SchedulingPolicy policy = PolicyOf("N k:v");
  const SchedulingPolicy* policies[] = {&policy};
  auto result = Merge(Json::object(), "/spec/template/spec", policies);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->patch,
            R"([{"op":"add","path":"/spec/template/spec/nodeSelector","value":{"k":"v"}}])");
}

// Example 16, and more than 256 terms.
TEST(MergeTest, SkippedCriteriaAreWarnedAbout) {
  EXPECT_THAT(MergeAll(SpecOf("gate"), PoliciesOf({"C-pin node=n"})).warnings,
              ElementsAre("ClusterPodSchedulingPolicy pin: spec.nodeName is skipped: the pod has "
                          "scheduling gates"));

  std::string terms;
  for (int i = 0; i < 200; ++i) terms += "[a" + std::to_string(i) + "]";
  Policies policies = PoliciesOf({"N-two [x][y] k:v"});
  MergeResult result = MergeAll(SpecOf(terms), policies);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("more than 256 terms")));
  EXPECT_EQ(Merged(SpecOf(terms), policies), SpecOf(terms + " k:v"));
  EXPECT_THAT(MergeAll(SpecOf(terms), PoliciesOf({"N [x] k:v"})).warnings, IsEmpty());
}

// For whom a policy of the cluster has to be in force.
TEST(MergeTest, WhatALimitSkipsOfAClusterPolicyIsNamed) {
  std::string terms;
  for (int i = 0; i < 200; ++i) terms += "[a" + std::to_string(i) + "]";
  std::string values = "[z:0";
  for (int i = 1; i < 5'001; ++i) values += "|" + std::to_string(i);
  values += "]";
  struct Row {
    std::string pod;
    const char* policy;
    const char* beyond_limit;  // "" for none
  };
  const Row rows[] = {
      {terms, "C-two [x][y]", "more than 256 terms"},
      {terms, "N-two [x][y]", ""},
      {terms, "C-one [x]", ""},
      {values, "C-one [x]", "takes more than 50000 comparisons"},
      {values, "C-one [x] t(k=v)", "takes more than 50000 comparisons"},
      {values, "N-one [x]", ""},
      {values, "C-one k:v P9[a] t(k=v)", ""},
      {values + " node=m", "C-one [x]", ""},
      {"gate", "C-pin node=n", ""},
  };
  for (const Row& row : rows) {
    std::string beyond_limit = MergeAll(SpecOf(row.pod), PoliciesOf({row.policy})).beyond_limit;
    if (*row.beyond_limit == '\0') {
      EXPECT_EQ(beyond_limit, "") << row.policy;
    } else {
      EXPECT_THAT(beyond_limit,
                  AllOf(HasSubstr("ClusterPodSchedulingPolicy "), HasSubstr(row.beyond_limit)))
          << row.policy;
    }
  }
}

// A later policy makes equal terms of several, so that an earlier one fits after all.
TEST(MergeTest, AnEarlierPolicyThatFitsLaterIsMerged) {
  std::string terms;
  for (int i = 0; i < 65; ++i) {
    std::string a = "a" + std::to_string(i);
    terms += "[" + a + "][x," + a + "]";
  }
  Json merged = Merged(SpecOf(terms), PoliciesOf({"C [y][z]", "N [x]"}));
  const Json& result = merged["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  EXPECT_EQ(result.size(), 130u);
}

// Example 58. Everything that merging does not know stays, in terms that it changes as well.
TEST(MergeTest, UnknownFieldsStay) {
  Json spec = SpecOf("[a] T t(k=v) k:v");
  spec["future"] = {{"big", 18446744073709551615u}, {"list", {nullptr, 1.5}}};
  spec["affinity"]["future"] = "kept";
  spec["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"][0]["future"] = 1;
  spec["tolerations"][0]["future"] = true;
  Json expected = spec;
  expected["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"][0]["matchExpressions"] =
      SpecOf("[x,a]")["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"][0]
                     ["matchExpressions"];
  expected["nodeSelector"]["m"] = "w";
  // Another toleration than the pod's, which has a field that the policy's has not.
  expected["tolerations"].push_back({{"key", "k"}, {"value", "v"}});
  EXPECT_EQ(Merged(spec, PoliciesOf({"N [x] T t(k=v) m:w"})), expected);
}

TEST(MergeTest, NullIsAbsent) {
  Json spec = kube::MustParseJson(R"({"nodeSelector": null, "nodeName": null, "tolerations": null,
      "affinity": {"podAffinity": null, "nodeAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": null}}}})");
  Json merged = Merged(spec, PoliciesOf({"N k:v node=n t(k=v) [x] A"}));
  EXPECT_EQ(merged, SpecOf("k:v node=n t(k=v) [x] A"));
}

TEST(MergeTest, WrongTypesAreErrors) {
  SchedulingPolicy policy = PolicyOf("N k:v node=n t(k=v) [x] A P9[a]");
  const SchedulingPolicy* policies[] = {&policy};
  for (const char* spec :
       {"[]", "null", R"({"nodeSelector": []})", R"({"nodeName": 1})", R"({"tolerations": {}})",
        R"({"affinity": "a"})", R"({"affinity": {"nodeAffinity": []}})",
        R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}})",
        R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": 1}}})",
        R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": "x"}}}})"}) {
    auto result = Merge(kube::MustParseJson(spec), "/spec", policies);
    EXPECT_TRUE(kube::FailedWith(result, kube::Code::kInvalid)) << spec;
  }
  // Items of another type than the API has are not looked into.
  for (const char* spec :
       {R"({"tolerations": [1, null, "x"]})",
        R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [1, {"matchExpressions": {}}, {"matchFields": [null]}]}}}})"}) {
    EXPECT_TRUE(Merge(kube::MustParseJson(spec), "/spec", policies)) << spec;
  }
}

// Example 59: the operator adds no requirement to a pod whose policy requires an architecture.
TEST(MergeTest, AnArchitectureOfAPolicyIsThePodsOwn) {
  Json policy = PolicyJson("N [a]");
  Json& requirement = policy["spec"]["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"][0]
                            ["matchExpressions"][0];
  requirement = {{"key", "kubernetes.io/arch"}, {"operator", "In"}, {"values", {"arm64"}}};
  auto parsed = SchedulingPolicy::FromJson(policy, Scope::kNamespace);
  ASSERT_TRUE(parsed);
  Json merged = Merged(SpecOf("[a][b]"), {*parsed});

  kube::core::Pod pod;
  auto& required = *pod.mutable_spec()
                        ->mutable_affinity()
                        ->mutable_node_affinity()
                        ->mutable_required_during_scheduling_ignored_during_execution();
  for (const Json& term : merged["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"]) {
    auto& added = *required.add_node_selector_terms();
    for (const Json& expression : term["matchExpressions"])
      added.add_match_expressions()->set_key(expression["key"].get<std::string>());
  }
  EXPECT_EQ(required.node_selector_terms_size(), 2);
  EXPECT_FALSE(placement::NeedsRequirement(pod));
}

// The labels a-d, z and a name, where "" is no label.
struct Node {
  std::map<std::string, std::string> labels;
  std::string name;
};

bool Holds(const Json& requirement, const std::string& value) {
  if (requirement["operator"] == "Exists") return !value.empty();
  const Json& values = requirement["values"];
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Whether the required node affinity of `spec` selects `node`, as the scheduler decides.
bool Admits(const Json& spec, const Node& node) {
  const Json* terms =
      kube::Find(spec, std::string("affinity.nodeAffinity.") + kRequired + ".nodeSelectorTerms");
  if (terms == nullptr) return true;
  return std::any_of(terms->begin(), terms->end(), [&](const Json& term) {
    bool holds = !term.empty();
    for (const Json& one : term.value("matchExpressions", Json::array())) {
      auto label = node.labels.find(one["key"].get<std::string>());
      holds &= Holds(one, label == node.labels.end() ? "" : label->second);
    }
    for (const Json& one : term.value("matchFields", Json::array())) holds &= Holds(one, node.name);
    return holds;
  });
}

Node RandomNode(std::mt19937& random) {
  Node node{.name = random() % 2 == 0 ? "n1" : "n2"};
  for (const char* key : {"a", "b", "c", "d"}) {
    if (random() % 2 == 0) node.labels[key] = "1";
  }
  if (random() % 4 != 0) node.labels["z"] = random() % 2 == 0 ? "1" : "2";
  return node;
}

// Every item of the pod's list is in the result's.
void ExpectKept(const Json& pod, const Json& result, const std::string& path) {
  const Json* before = kube::Find(pod, path);
  if (before == nullptr) return;
  const Json* after = kube::Find(result, path);
  ASSERT_NE(after, nullptr) << path;
  for (size_t i = 0; i < before->size(); ++i) {
    bool automatic = kube::IntAt((*before)[i], "tolerationSeconds") == 300;
    if (automatic) continue;
    EXPECT_EQ((*after)[i], (*before)[i]) << path;
  }
}

TEST(MergeTest, RandomPairs) {
  std::mt19937 random(20261122);
  int changed = 0;
  int admitted = 0;
  int refused = 0;
  for (int pair = 0; pair < 500; ++pair) {
    Json pod = SpecOf(RandomPod(random));
    // What restricts the nodes: the pod and the policies, as they were written.
    std::vector<Json> written = {pod};
    Policies policies;
    for (size_t i = 1 + random() % 4; i > 0; --i) {
      std::string name = (random() % 2 == 0 ? "C-" : "N-") + std::to_string(i);
      std::string words = RandomPolicy(random, name);
      policies.push_back(PolicyOf(words));
      written.push_back(SpecOf(words.substr(words.find(' '))));
    }
    std::sort(policies.begin(), policies.end(), Precedes);
    Json result = Merged(pod, policies);  // twice equals once
    changed += result != pod;

    // The pod's own words.
    for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
      for (const char* list : {kRequired, kPreferred})
        ExpectKept(pod, result, std::string("affinity.") + kind + "." + list);
    }
    ExpectKept(pod, result, std::string("affinity.nodeAffinity.") + kPreferred);
    ExpectKept(pod, result, "tolerations");
    const Json own = pod.value("nodeSelector", Json::object());
    for (const auto& [key, value] : own.items()) EXPECT_EQ(result["nodeSelector"][key], value);
    EXPECT_EQ(result.value("schedulingGates", Json()), pod.value("schedulingGates", Json()));
    if (pod.contains("nodeName")) {
      EXPECT_EQ(result["nodeName"], pod["nodeName"]);
    }
    if (pod.value("schedulerName", "default-scheduler") != "default-scheduler") {
      EXPECT_EQ(result["schedulerName"], pod["schedulerName"]);
    }

    // The required node affinity is the pod's AND that of each policy.
    if (pod.contains("nodeName")) {
      EXPECT_EQ(result.value("affinity", Json()), pod.value("affinity", Json()));
      continue;
    }
    for (int i = 0; i < 20; ++i) {
      Node node = RandomNode(random);
      bool expected = std::all_of(written.begin(), written.end(),
                                  [&](const Json& spec) { return Admits(spec, node); });
      EXPECT_EQ(Admits(result, node), expected)
          << kube::DumpJson(pod) << " became " << kube::DumpJson(result);
      ++(expected ? admitted : refused);
    }
  }
  EXPECT_GT(changed, 400);
  EXPECT_GT(admitted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace policy
