// SPDX-License-Identifier: Apache-2.0
#include "webhook/placement_patch.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "api/architecture_tolerations.h"
#include "api/names.h"
#include "api/platform.h"
#include "kube/testing/serialize_in_order.h"
#include "kube/types/unstructured.h"
#include "placement/placed_at_creation.h"
#include "webhook/pod_from_json.h"

namespace webhook {
namespace {

using kube::Json;
using kube::core::Pod;
using placement::ArchitectureSet;
using placement::ClusterDecision;

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

const api::ArchitectureTolerations kTolerate{.enabled = true};
const std::vector<api::Platform> kPreferArm = {{.architecture = "arm64", .weight = 10}};

PodInReview Read(const Json& pod) {
  simdjson::dom::parser parser;
  return PodFromJson(parser.parse(kube::DumpJson(pod)).value(), "ns");
}

Json PodOf(Json spec) {
  spec["containers"] = Json::array({{{"name", "app"}, {"image", "a:1"}, {"future", {{"x", 1}}}}});
  return {{"metadata", {{"name", "web"}}}, {"spec", std::move(spec)}};
}

ClusterDecision DecisionOn(ArchitectureSet architectures) {
  ClusterDecision decision{.platforms = placement::CommonPlatforms(std::move(architectures))};
  decision.cluster_platforms = kPreferArm;
  decision.cluster_tolerations = &kTolerate;
  return decision;
}

// What the API server makes of the patch.
Json Patched(const Json& pod, const std::string& patch) {
  return patch.empty() ? pod : pod.patch(kube::MustParseJson(patch));
}

// Places the pod, and expects that the patch does the same to the JSON.
Json Place(const Json& pod, const ClusterDecision& decision) {
  PodInReview review = Read(pod);
  Pod placed = review.pod;
  EXPECT_TRUE(placement::PlaceAtCreation(placed, decision));
  std::optional<std::string> patch = PlacementPatch(review, placed);
  EXPECT_TRUE(patch);
  if (!patch) return pod;
  Json patched = Patched(pod, *patch);
  EXPECT_EQ(kube::SerializeInOrder(Read(patched).pod), kube::SerializeInOrder(placed)) << *patch;
  return patched;
}

TEST(PlacementPatchTest, AddsWhatIsAbsent) {
  Json placed = Place(PodOf(Json::object()), DecisionOn({"amd64", "arm64"}));
  EXPECT_EQ(
      placed["spec"]["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"],
      kube::MustParseJson(R"([{"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In",
                             "values": ["amd64", "arm64"]}]}])"));
  EXPECT_EQ(placed["spec"]["affinity"]["nodeAffinity"][kPreferred][0]["weight"], 10);
  EXPECT_EQ(placed["spec"]["tolerations"].size(), 2U);
  EXPECT_EQ(placed["metadata"]["labels"]["multiarch.openshift.io/node-affinity"], "set");
  EXPECT_EQ(placed["spec"]["containers"][0]["future"]["x"], 1);
}

TEST(PlacementPatchTest, FieldsThatItDoesNotKnowStay) {
  Json spec = kube::MustParseJson(R"({
    "affinity": {
      "future": 1, "podAffinity": {"x": 2},
      "nodeAffinity": {
        "future": 3,
        "requiredDuringSchedulingIgnoredDuringExecution": {
          "future": 4,
          "nodeSelectorTerms": [
            {"future": 5, "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"],
                                                "future": 6}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [
          {"weight": 1, "future": 7,
           "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]}},
    "tolerations": [{"key": "a", "operator": "Exists", "future": 8}]})");
  Json pod = PodOf(spec);
  pod["metadata"]["labels"] = {{"app", "web"}};
  pod["metadata"]["annotations"] = {{"a/b~c", "x"}};
  const Json placed = Place(pod, DecisionOn({"amd64", "arm64"}));
  const Json& affinity = placed["spec"]["affinity"];
  EXPECT_EQ(affinity["future"], 1);
  EXPECT_EQ(affinity["podAffinity"]["x"], 2);
  EXPECT_EQ(affinity["nodeAffinity"]["future"], 3);
  const Json& required = affinity["nodeAffinity"][kRequired];
  EXPECT_EQ(required["future"], 4);
  EXPECT_EQ(required["nodeSelectorTerms"][0]["future"], 5);
  EXPECT_EQ(required["nodeSelectorTerms"][0]["matchExpressions"][0]["future"], 6);
  EXPECT_EQ(required["nodeSelectorTerms"][0]["matchExpressions"][1]["key"], "kubernetes.io/arch");
  EXPECT_EQ(required["nodeSelectorTerms"][1]["matchExpressions"][0]["key"], "kubernetes.io/arch");
  EXPECT_EQ(required["nodeSelectorTerms"][1]["matchFields"].size(), 1U);
  EXPECT_EQ(affinity["nodeAffinity"][kPreferred][0]["future"], 7);
  EXPECT_EQ(affinity["nodeAffinity"][kPreferred].size(), 2U);
  EXPECT_EQ(placed["spec"]["tolerations"][0]["future"], 8);
  EXPECT_EQ(placed["metadata"]["labels"]["app"], "web");
  EXPECT_EQ(placed["metadata"]["annotations"]["a/b~c"], "x");
}

TEST(PlacementPatchTest, NullCountsAsAbsent) {
  Json spec = kube::MustParseJson(R"({"affinity": {"nodeAffinity": null}, "tolerations": null})");
  Json pod = PodOf(spec);
  pod["metadata"]["labels"] = nullptr;
  Place(pod, DecisionOn({"arm64"}));
  Place(PodOf({{"affinity", nullptr}}), DecisionOn({"arm64"}));
  Place(PodOf({{"affinity", {{"nodeAffinity", {{kPreferred, nullptr}}}}}}), DecisionOn({"arm64"}));
}

TEST(PlacementPatchTest, LabelsThatPlacementRemovesAreRemoved) {
  Json pod = PodOf(Json::object());
  pod["metadata"]["labels"] = {{std::string(api::kInspectErrorLabel), ""}};
  pod["metadata"]["annotations"] = {{std::string(api::kInspectErrorAnnotation), "x"}};
  Json placed = Place(pod, DecisionOn({"arm64"}));
  EXPECT_FALSE(placed["metadata"]["labels"].contains(std::string(api::kInspectErrorLabel)));
}

TEST(PlacementPatchTest, WhatIsNotAnAdditionHasNoPatch) {
  Json spec = kube::MustParseJson(R"({
    "affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}},
    "tolerations": [{"key": "a", "operator": "Exists"}]})");
  const PodInReview review = Read(PodOf(spec));
  ASSERT_EQ(PlacementPatch(review, review.pod), "");
  Pod changed = review.pod;
  changed.mutable_spec()->mutable_tolerations(0)->set_key("b");
  EXPECT_FALSE(PlacementPatch(review, changed));
  changed = review.pod;
  kube::core::NodeAffinity& affinity =
      *changed.mutable_spec()->mutable_affinity()->mutable_node_affinity();
  affinity.mutable_preferred_during_scheduling_ignored_during_execution(0)->set_weight(2);
  EXPECT_FALSE(PlacementPatch(review, changed));
  changed = review.pod;
  changed.mutable_spec()
      ->mutable_affinity()
      ->mutable_node_affinity()
      ->clear_required_during_scheduling_ignored_during_execution();
  EXPECT_FALSE(PlacementPatch(review, changed));
  changed = review.pod;
  changed.mutable_spec()
      ->mutable_affinity()
      ->mutable_node_affinity()
      ->mutable_required_during_scheduling_ignored_during_execution()
      ->mutable_node_selector_terms(0)
      ->mutable_match_expressions(0)
      ->set_key("b");
  EXPECT_FALSE(PlacementPatch(review, changed));
}

// Random pods: the patch does to the JSON what placement does to the message, twice.
TEST(PlacementPatchTest, EqualsWhatPlacementDoes) {
  std::mt19937 random(1);
  auto below = [&](size_t n) { return random() % n; };
  auto architecture = [&] {
    constexpr std::array<const char*, 4> kAll = {"amd64", "arm64", "ppc64le", "s390x"};
    return std::string(kAll[below(kAll.size())]);
  };
  int placed = 0;
  for (int i = 0; i < 2'000; ++i) {
    Json spec = Json::object();
    if (below(2) == 0) spec["affinity"] = Json::object();
    if (below(2) == 0) spec["tolerations"] = Json::array({{{"key", "a"}, {"operator", "Exists"}}});
    Json affinity = Json::object();
    for (size_t terms = below(3); terms > 0; --terms) {
      Json term = Json::object();
      if (below(3) > 0)
        term["matchExpressions"] =
            Json::array({{{"key", below(3) == 0 ? "kubernetes.io/arch" : "zone"},
                          {"operator", "In"},
                          {"values", Json::array({architecture()})}}});
      if (below(3) == 0)
        term["matchFields"] = Json::array(
            {{{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({"n"})}}});
      affinity[kRequired]["nodeSelectorTerms"].push_back(term);
    }
    if (below(3) == 0)
      affinity[kPreferred] = Json::array(
          {{{"weight", 1},
            {"preference",
             {{"matchExpressions", Json::array({{{"key", "zone"}, {"operator", "Exists"}}})}}}}});
    if (!affinity.empty() || below(2) == 0) spec["affinity"]["nodeAffinity"] = affinity;
    Json pod = PodOf(spec);
    if (below(2) == 0) pod["metadata"]["labels"] = {{"app", "web"}};

    ArchitectureSet architectures;
    for (size_t n = 1 + below(3); n > 0; --n) architectures.insert(architecture());
    ClusterDecision decision = DecisionOn(architectures);
    if (below(4) == 0) decision.platforms->amd64_level = 3;
    Pod probe = Read(pod).pod;
    if (!placement::PlaceAtCreation(probe, decision)) continue;
    ++placed;
    Json once = Place(pod, decision);
    EXPECT_EQ(Place(once, decision), once);
  }
  EXPECT_GT(placed, 800);
}

}  // namespace
}  // namespace webhook
