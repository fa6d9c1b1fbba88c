// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/backfill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "scheduling-policies/canonical.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/pod_json.h"
#include "scheduling-policies/testing/words.h"

namespace policy {
namespace {

using kube::Json;
using kube::core::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kRequiredTerms[] =
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferredTerms[] =
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution";

// A gated pod with the node selector, node affinity, tolerations and scheduler of `spec`.
Pod PodOf(const Json& spec) {
  Pod pod;
  kube::core::PodSpec& out = *pod.mutable_spec();
  out.add_scheduling_gates()->set_name(std::string(api::kClusterGate));
  if (const Json* selector = kube::Find(spec, "nodeSelector")) {
    for (const auto& [key, value] : selector->items()) (*out.mutable_node_selector())[key] = value;
  }
  out.set_scheduler_name(kube::StringAt(spec, "schedulerName"));
  if (const Json* tolerations = kube::Find(spec, "tolerations")) {
    for (const Json& toleration : *tolerations) FromJson(toleration, *out.add_tolerations());
  }
  std::string node = "affinity.nodeAffinity.";
  if (const Json* terms = kube::Find(spec, node + kRequired + ".nodeSelectorTerms")) {
    auto& required = *out.mutable_affinity()
                          ->mutable_node_affinity()
                          ->mutable_required_during_scheduling_ignored_during_execution();
    for (const Json& term : *terms) FromJson(term, *required.add_node_selector_terms());
  }
  if (const Json* terms = kube::Find(spec, node + kPreferred)) {
    for (const Json& term : *terms) {
      FromJson(term, *out.mutable_affinity()
                          ->mutable_node_affinity()
                          ->add_preferred_during_scheduling_ignored_during_execution());
    }
  }
  return pod;
}

std::vector<SchedulingPolicy> PoliciesOf(const std::vector<std::string>& words) {
  std::vector<SchedulingPolicy> policies;
  for (const std::string& one : words) policies.push_back(PolicyOf(one));
  std::sort(policies.begin(), policies.end(), Precedes);
  return policies;
}

Backfilled Apply(Pod& pod, const std::vector<SchedulingPolicy>& policies) {
  std::vector<const SchedulingPolicy*> pointers;
  for (const SchedulingPolicy& policy : policies) pointers.push_back(&policy);
  return Backfill(pod, pointers);
}

TEST(BackfillTest, AddsWhatTheApiServerStillAllows) {
  struct Row {
    std::vector<std::string> policies;
    const char* pod;
    const char* result;  // "=": unchanged
    std::vector<std::string> added;
    std::vector<std::string> missed;
  };
  const Row rows[] = {
      {{}, "k:v", "=", {}, {}},
      {{"N k:v m:w"}, "k:x", "k:x m:w", {"spec.nodeSelector"}, {}},
      {{"N k:v"}, "k:x", "=", {}, {}},
      {{"N t(k=v)"}, "-", "t(k=v)", {"spec.tolerations"}, {}},
      {{"N t(k=v)"}, "t(m=w)", "t(m=w) t(k=v)", {"spec.tolerations"}, {}},
      {{"N t(k=v)"}, "t(k==v)", "=", {}, {}},
      {{"N t(not-ready~60)"}, "t(not-ready~300)", "=", {}, {"spec.tolerations"}},
      {{"N t(not-ready~60) t(k=v)"},
       "t(not-ready~300)",
       "t(not-ready~300) t(k=v)",
       {"spec.tolerations"},
       {"spec.tolerations"}},
      {{"N [x][y]"}, "-", "[x][y]", {kRequiredTerms}, {}},
      {{"N [x]"}, "[a,b]", "[a,b,x]", {kRequiredTerms}, {}},
      {{"N [x,f:n]"}, "[a][b]", "[a,x,f:n][b,x,f:n]", {kRequiredTerms}, {}},
      {{"N [x]"}, "[x][a]", "[x][a,x]", {kRequiredTerms}, {}},
      {{"C [x]", "N [y]"}, "[a]", "[a,y,x]", {kRequiredTerms}, {}},
      {{"N [x]"}, "[x,a]", "=", {}, {}},
      {{"N [x][y]"}, "[a]", "=", {}, {kRequiredTerms}},
      {{"N [x]"}, "[][a]", "=", {}, {kRequiredTerms}},
      {{"N [x][y]"}, "[][a]", "=", {}, {kRequiredTerms}},
      {{"N [x]"}, "[]", "=", {}, {}},
      {{"N P9[a]"}, "P8[a]", "P8[a] P9[a]", {kPreferredTerms}, {}},
      {{"N P9[a]"}, "P9[a]", "=", {}, {}},
      {{"N sched=s"}, "sched=default-scheduler", "=", {}, {"spec.schedulerName"}},
      {{"N sched=s"}, "sched=other", "=", {}, {}},
      {{"N node=n"}, "-", "=", {}, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.pod) + " with " + ::testing::PrintToString(row.policies));
    std::vector<SchedulingPolicy> policies = PoliciesOf(row.policies);
    Pod pod = PodOf(SpecOf(row.pod));
    Backfilled backfilled = Apply(pod, policies);
    EXPECT_EQ(backfilled.added, row.added);
    EXPECT_EQ(backfilled.missed, row.missed);
    Pod expected = PodOf(SpecOf(std::string(row.result) == "=" ? row.pod : row.result));
    EXPECT_EQ(ToJson(pod.spec()), ToJson(expected.spec()));

    Json once = ToJson(pod.spec());
    Backfilled again = Apply(pod, policies);
    EXPECT_THAT(again.added, IsEmpty());
    EXPECT_EQ(again.missed, row.missed);
    EXPECT_EQ(ToJson(pod.spec()), once);
  }
}

// Kueue deletes pods whose tolerations change while its gate is there.
TEST(BackfillTest, TolerationsComeWithTheLastGate) {
  std::vector<SchedulingPolicy> policies = PoliciesOf({"N a:v t(k=v)"});
  Pod pod = PodOf(SpecOf("-"));
  pod.mutable_spec()->add_scheduling_gates()->set_name("kueue.x-k8s.io/admission");
  Backfilled first = Apply(pod, policies);
  EXPECT_THAT(first.added, ElementsAre("spec.nodeSelector"));
  EXPECT_THAT(first.missed, IsEmpty());
  EXPECT_EQ(pod.spec().tolerations_size(), 0);
  pod.mutable_spec()->mutable_scheduling_gates()->RemoveLast();
  EXPECT_THAT(Apply(pod, policies).added, ElementsAre("spec.tolerations"));
  EXPECT_EQ(pod.spec().tolerations_size(), 1);
}

TEST(BackfillTest, PodAffinityIsOnlyReported) {
  Pod pod = PodOf(SpecOf("k:v"));
  std::vector<SchedulingPolicy> policies = PoliciesOf({"N T A5"});
  Backfilled backfilled = Apply(pod, policies);
  EXPECT_THAT(backfilled.added, IsEmpty());
  EXPECT_THAT(
      backfilled.missed,
      ElementsAre("spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution",
                  "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"));
  EXPECT_FALSE(pod.spec().has_affinity());
}

// Admission copies the terms, and then nothing is missed.
TEST(BackfillTest, PodAffinityThatTheAdmissionAddedIsNotMissed) {
  Pod pod = PodOf(SpecOf("-"));
  auto& term = *pod.mutable_spec()
                    ->mutable_affinity()
                    ->mutable_pod_anti_affinity()
                    ->add_required_during_scheduling_ignored_during_execution();
  term.set_topology_key("zone");
  term.mutable_label_selector()->mutable_match_labels()->insert({"app", "web"});
  term.mutable_namespace_selector();
  term.add_namespaces("b");
  term.add_namespaces("a");
  term.add_match_label_keys("hash");
  Json spec = {{"podSelector", Json::object()}};
  spec["affinity"]["podAntiAffinity"][kRequired] = kube::MustParseJson(R"([{
      "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}},
      "namespaceSelector": {}, "namespaces": ["a", "b"], "matchLabelKeys": ["hash"]}])");
  auto policy = SchedulingPolicy::FromJson(
      {{"metadata", {{"name", "p"}, {"namespace", "shop"}}}, {"spec", spec}}, Scope::kNamespace);
  ASSERT_TRUE(policy);
  ASSERT_THAT(policy->problems, IsEmpty());
  EXPECT_THAT(Apply(pod, {*policy}).missed, IsEmpty());
  term.clear_namespace_selector();
  EXPECT_EQ(Apply(pod, {*policy}).missed.size(), 1u);
}

// The items of `before`, then those that `merged` has after as many.
Json Extended(const Json& before, const Json& merged) {
  Json list = before;
  for (size_t i = before.size(); i < merged.size(); ++i) list.push_back(merged[i]);
  return list;
}

// The list of `term`, cut to the length of the list of `before`.
Json Beginning(const Json& term, const Json& before, const char* list) {
  const Json& items = kube::ListAt(term, list);
  EXPECT_GE(items.size(), kube::ListAt(before, list).size());
  Json beginning = Json::array();
  for (size_t i = 0; i < std::min(items.size(), kube::ListAt(before, list).size()); ++i)
    beginning.push_back(items[i]);
  return beginning;
}

// What the pod has stays, in its order: the API server refuses anything else. It gets all that
// merging adds, except the fields that are reported as missed.
TEST(BackfillTest, RandomPodsKeepWhatTheyHaveAndGetTheRest) {
  const std::string required_path = std::string(kRequiredTerms).substr(5) + ".nodeSelectorTerms";
  const std::string preferred_path = std::string(kPreferredTerms).substr(5);
  std::mt19937 random(12);
  std::map<std::string, int> added, missed;
  for (int i = 0; i < 500; ++i) {
    std::string words = RandomPod(random);
    std::vector<SchedulingPolicy> policies =
        PoliciesOf({RandomPolicy(random, "C-a"), RandomPolicy(random, "N-b")});
    SCOPED_TRACE(words);
    Pod pod = PodOf(SpecOf(words));
    const Json before = ToJson(pod.spec());
    auto merging = MergedSpec(before, std::vector{&policies[0], &policies[1]});
    ASSERT_TRUE(merging) << merging.error();
    const Json& merged = merging->spec;
    Backfilled backfilled = Apply(pod, policies);
    const Json after = ToJson(pod.spec());
    for (const std::string& path : backfilled.added) ++added[path];
    for (const std::string& path : backfilled.missed) ++missed[path];
    auto is_missed = [&](const std::string& path) {
      return std::count(backfilled.missed.begin(), backfilled.missed.end(), path) > 0;
    };

    const Json old_selector = before.value("nodeSelector", Json::object());
    for (const auto& [key, value] : old_selector.items())
      EXPECT_EQ(after["nodeSelector"][key], value);
    EXPECT_EQ(after.value("nodeSelector", Json()), merged.value("nodeSelector", Json()));

    for (const std::string& path : {std::string("tolerations"), preferred_path})
      EXPECT_EQ(kube::ListAt(after, path),
                Extended(kube::ListAt(before, path), kube::ListAt(merged, path)))
          << path;
    EXPECT_EQ(is_missed("spec.tolerations"),
              kube::ListAt(after, "tolerations") != kube::ListAt(merged, "tolerations"));

    const Json& old_terms = kube::ListAt(before, required_path);
    const Json& terms = kube::ListAt(after, required_path);
    if (is_missed(kRequiredTerms)) {
      EXPECT_EQ(terms, old_terms);
    } else {
      EXPECT_EQ(CanonicalText(terms), CanonicalText(kube::ListAt(merged, required_path)));
    }
    if (!old_terms.empty()) {
      ASSERT_EQ(terms.size(), old_terms.size());
      for (size_t t = 0; t < terms.size(); ++t) {
        for (const char* list : {"matchExpressions", "matchFields"})
          EXPECT_EQ(Beginning(terms[t], old_terms[t], list), kube::ListAt(old_terms[t], list));
      }
    }

    for (const char* fixed : {"schedulerName", "schedulingGates", "nodeName"})
      EXPECT_EQ(after.value(fixed, Json()), before.value(fixed, Json())) << fixed;
    EXPECT_EQ(is_missed("spec.schedulerName"),
              kube::StringAt(before, "schedulerName") != kube::StringAt(merged, "schedulerName"));
    EXPECT_FALSE(pod.spec().affinity().has_pod_affinity() ||
                 pod.spec().affinity().has_pod_anti_affinity());
  }
  for (const char* path :
       {"spec.nodeSelector", "spec.tolerations", kRequiredTerms, kPreferredTerms}) {
    EXPECT_GT(added[path], 20) << path;
  }
  for (const char* path : {"spec.tolerations", kRequiredTerms, "spec.schedulerName"})
    EXPECT_GT(missed[path], 5) << path;
}

}  // namespace
}  // namespace policy
