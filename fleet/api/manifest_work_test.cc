// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/manifest_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/pod_placement_work.h"
#include "kube/base/clock.h"

namespace fleet {
namespace {

using kube::Json;
using std::chrono::hours;
using ::testing::HasSubstr;

constexpr char kCluster[] = "ClusterPodPlacementConfig cluster";
constexpr char kWeb[] = "PodPlacementConfig shop/web";

PodPlacementWorkSpec Spec() {
  PodPlacementWorkSpec spec{.hash = "0123456789abcdef",
                            .given_at = kube::WallTime(hours(480'000)),
                            .deletion_policy = DeletionPolicy::kOrphan,
                            .adopt = true};
  spec.objects.push_back(kube::MustParseJson(R"({
      "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "ClusterPodPlacementConfig",
      "metadata": {"name": "cluster"}, "spec": {"logVerbosity": "Debug"}})"));
  spec.objects.push_back(kube::MustParseJson(R"({
      "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "PodPlacementConfig",
      "metadata": {"name": "web", "namespace": "shop", "annotations": {"a": "b"}},
      "spec": {"priority": 7}})"));
  return spec;
}

// As it is stored.
Json Stored(const PodPlacementWorkSpec& spec = Spec()) {
  Json json = kube::MustParseJson(R"({
      "metadata": {"name": "team.web", "namespace": "c1", "uid": "u", "resourceVersion": "9",
        "generation": 3,
        "labels": {"fleet.multiarch.openshift.io/namespace": "team",
                   "fleet.multiarch.openshift.io/name": "web"},
        "finalizers": ["cluster.open-cluster-management.io/manifest-work-cleanup"]}})");
  json.merge_patch(ManifestWorkContent("team.web", spec));
  return json;
}

Json Condition(const std::string& type, const std::string& status, const std::string& message) {
  return {{"type", type},
          {"status", status},
          {"reason", "Test"},
          {"message", message},
          {"observedGeneration", 3},
          {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
}

// What OCM's agent says about an object that it has applied and that is available.
Json Report(const std::string& kind, const std::string& ns, const std::string& name) {
  Json report = kube::MustParseJson(R"({"statusFeedback": {"values": [
      {"name": "hash", "fieldValue": {"type": "String", "string": "0123456789abcdef"}},
      {"name": "generation", "fieldValue": {"type": "Integer", "integer": 2}},
      {"name": "available", "fieldValue": {"type": "String", "string": "True"}},
      {"name": "observedGeneration", "fieldValue": {"type": "Integer", "integer": 2}}]}})");
  report["resourceMeta"] = {{"kind", kind}, {"namespace", ns}, {"name", name}};
  report["conditions"] = Json::array({Condition("Applied", "True", "Apply manifest complete")});
  return report;
}

Json Answered() {
  Json json = Stored();
  Json& status = json["status"];
  status["conditions"] = Json::array(
      {Condition("Applied", "True", "done"), Condition("Available", "True", "all exist")});
  status["resourceStatus"]["manifests"] =
      Json::array({Report("PodPlacementConfig", "shop", "web"),
                   Report("ClusterPodPlacementConfig", "", "cluster")});
  return json;
}

PodPlacementWork Read(const Json& json) { return *WorkFromManifestWork(json); }

// The webhook's sum is that of each manifest in protobuf: two tags and two lengths around the JSON.
TEST(ManifestsBytesTest, TheyAreWhatTheWebhookOfOcmCounts) {
  PodPlacementWorkSpec spec = Spec();
  auto counted = [&] {
    size_t bytes = 0;
    Json content = ManifestWorkContent("team.web", spec);
    for (const Json& manifest : content["spec"]["workload"]["manifests"])
      bytes += kube::DumpJson(manifest).size();
    return bytes;
  };
  size_t bytes = ManifestsBytes(spec.objects);
  EXPECT_GE(bytes, counted() + 2 * 4);
  EXPECT_LE(bytes, counted() + 2 * 10);
  spec.objects[1]["metadata"]["annotations"]["a"] = "b<>&";
  EXPECT_EQ(ManifestsBytes(spec.objects), bytes + 3 * 6);
}

TEST(ManifestWorkTest, ItIsWhatOcmsAgentReads) {
  PodPlacementWorkSpec spec = Spec();
  spec.objects.pop_back();
  EXPECT_EQ(ManifestWorkContent("team.web", spec), kube::MustParseJson(R"({
      "metadata": {"annotations": {
        "fleet.multiarch.openshift.io/work-hash": "0123456789abcdef",
        "fleet.multiarch.openshift.io/work-given-at": "2024-10-04T00:00:00Z"}},
      "spec": {
        "workload": {"manifests": [{
          "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "ClusterPodPlacementConfig",
          "metadata": {"name": "cluster", "annotations": {
            "fleet.multiarch.openshift.io/work-hash": "0123456789abcdef"}},
          "spec": {"logVerbosity": "Debug"}}]},
        "deleteOption": {"propagationPolicy": "Orphan"},
        "manifestConfigs": [{
          "resourceIdentifier": {"group": "multiarch.openshift.io",
            "resource": "clusterpodplacementconfigs", "name": "cluster", "namespace": ""},
          "updateStrategy": {"type": "ServerSideApply",
            "serverSideApply": {"force": true, "fieldManager": "work-agent-team.web"}},
          "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
            {"name": "hash",
             "path": ".metadata.annotations.fleet\\.multiarch\\.openshift\\.io/work-hash"},
            {"name": "generation", "path": ".metadata.generation"},
            {"name": "available",
             "path": ".status.conditions[?(@.type==\"Available\")].status"},
            {"name": "observedGeneration",
             "path": ".status.conditions[?(@.type==\"Available\")].observedGeneration"}]}]}]}})"));
  EXPECT_EQ(
      ManifestWorkPolicy(DeletionPolicy::kDelete),
      kube::MustParseJson(R"({"spec": {"deleteOption": {"propagationPolicy": "Foreground"}}})"));
}

TEST(ManifestWorkTest, AFieldManagersNameIsBounded) {
  Json content = ManifestWorkContent(std::string(127, 'n'), Spec());
  const Json& config = content["spec"]["manifestConfigs"][1];
  EXPECT_EQ(kube::StringAt(config, "resourceIdentifier.resource"), "podplacementconfigs");
  EXPECT_EQ(kube::StringAt(config, "updateStrategy.serverSideApply.fieldManager").size(), 128u);
}

TEST(ManifestWorkTest, ItIsReadAsItWasWritten) {
  for (bool other : {false, true}) {
    PodPlacementWorkSpec spec = Spec();
    if (other) {
      spec.adopt = false;
      spec.deletion_policy = DeletionPolicy::kDelete;
    }
    PodPlacementWork work = Read(Stored(spec));
    EXPECT_EQ(api::Describe(work.problems), "");
    EXPECT_EQ(work.ns, "c1");
    EXPECT_EQ(work.name, "team.web");
    EXPECT_EQ(work.uid, "u");
    EXPECT_EQ(work.resource_version, "9");
    EXPECT_EQ(work.owner_ns, "team");
    EXPECT_EQ(work.owner_name, "web");
    EXPECT_TRUE(work.has_finalizer);
    EXPECT_FALSE(work.deleting);
    EXPECT_EQ(work.spec.hash, spec.hash);
    EXPECT_EQ(work.spec.given_at, spec.given_at);
    EXPECT_EQ(work.spec.objects, spec.objects);
    EXPECT_EQ(work.spec.deletion_policy, spec.deletion_policy);
    EXPECT_EQ(work.spec.adopt, spec.adopt);
    EXPECT_EQ(work.Phase(), WorkPhase::kProgressing);
    EXPECT_EQ(work.Succeeded(), nullptr);
  }
}

TEST(ManifestWorkTest, WhatAnApiServerAddsIsNoProblem) {
  Json json = Stored();
  json["spec"]["executor"] = {{"subject", {{"type", "ServiceAccount"}}}};
  json["spec"]["manifestConfigs"][0]["conditionRules"] = Json::array();
  json["spec"]["manifestConfigs"][0]["updateStrategy"]["serverSideApply"]["ignoreFields"] =
      Json::array();
  EXPECT_EQ(api::Describe(Read(json).problems), "");
}

TEST(ManifestWorkTest, WhatTheHubHasNotWrittenIsAProblem) {
  struct Row {
    const char* path;
    Json value;
    const char* problem;
  };
  const std::string kMark = "fleet.multiarch.openshift.io~1work-hash";
  const std::string kHash = "/metadata/annotations/" + kMark;
  const std::string kGiven = "/metadata/annotations/fleet.multiarch.openshift.io~1work-given-at";
  const std::string kObjectHash = "/spec/workload/manifests/1" + kHash;
  const Row kRows[] = {
      {kHash.c_str(), "", "must have 1 to 64 characters"},
      {kHash.c_str(), std::string(65, 'h'), "must have 1 to 64 characters"},
      {kHash.c_str(), "other", "spec.workload.manifests[0]: must have the annotation"},
      {kGiven.c_str(), "soon", "must be an RFC 3339 time"},
      {kObjectHash.c_str(), "other", "spec.workload.manifests[1]: must have the annotation"},
      {"/spec/workload/manifests/1", 7, "spec.workload.manifests[1]: must have the annotation"},
      {"/spec/workload/manifests/1/metadata", 7, "spec.workload.manifests[1]: must have"},
      {"/spec/workload/manifests", Json(std::vector<int>(102)), "must have at most 101 items"},
      {"/spec/workload", 7, "spec.workload: must be an object"},
      {"/spec/manifestConfigs", nullptr, "spec.manifestConfigs: is required"},
      {"/spec/manifestConfigs", Json::array(), "spec.manifestConfigs: must be as the hub"},
      {"/spec/manifestConfigs/1/updateStrategy/type", "Update", "spec.manifestConfigs: must be as"},
      {"/spec/manifestConfigs/1/updateStrategy/serverSideApply/force", false, "must be as the hub"},
      {"/spec/manifestConfigs/0/feedbackRules", nullptr, "spec.manifestConfigs: must be as"},
      {"/spec/manifestConfigs/0", "x", "spec.manifestConfigs: must be as"},
      {"/spec/deleteOption/propagationPolicy", "SelectivelyOrphan", "must be one of"},
      {"/spec", nullptr, "spec.workload: is required"}};
  for (const Row& row : kRows) {
    Json json = Answered();
    json[Json::json_pointer(row.path)] = row.value;
    PodPlacementWork work = Read(json);
    EXPECT_THAT(api::Describe(work.problems), HasSubstr(row.problem)) << row.path;
    EXPECT_EQ(work.Phase(), WorkPhase::kProgressing) << row.path;
    EXPECT_EQ(work.Succeeded(), nullptr) << row.path;
  }
  EXPECT_FALSE(WorkFromManifestWork(Json::array()));
}

TEST(ManifestWorkTest, TheAnswerNeedsEveryObject) {
  using Change = std::function<void(Json & status)>;
  struct Row {
    const char* name;
    Change change;
    WorkPhase phase;
    std::string message;
  };
  auto set = [](const char* path, Json value) -> Change {
    return [path, value](Json& status) { status[Json::json_pointer(path)] = value; };
  };
  const std::string web = std::string(kWeb) + ": ";
  const std::string cluster = std::string(kCluster) + ": ";
  const char* kValue = "/resourceStatus/manifests/0/statusFeedback/values/";
  auto value = [&](const char* path, Json wanted) -> Change {
    return [path = kValue + std::string(path), wanted](Json& status) {
      status[Json::json_pointer(path)] = wanted;
    };
  };
  const Row kRows[] = {
      {"all is well", [](Json&) {}, WorkPhase::kSucceeded, "Every object is applied and available"},
      {"not looked at again since a change of the policy",
       set("/conditions/0/observedGeneration", 2), WorkPhase::kSucceeded,
       "Every object is applied and available"},
      {"no generation from the operator", value("3/name", "other"), WorkPhase::kSucceeded,
       "Every object is applied and available"},
      {"an object of before", value("0/fieldValue/string", "old"), WorkPhase::kProgressing,
       web + "not applied yet"},
      {"an object that was not read", set("/resourceStatus/manifests/1/statusFeedback", nullptr),
       WorkPhase::kProgressing, cluster + "not applied yet"},
      {"an object without a report", set("/resourceStatus/manifests/1", Json::object()),
       WorkPhase::kProgressing, cluster + "not applied yet"},
      {"no report at all", set("/resourceStatus", nullptr), WorkPhase::kProgressing,
       cluster + "not applied yet"},
      {"nothing from the operator", value("2", Json::object()), WorkPhase::kProgressing,
       web + "not Available yet"},
      {"about an older generation", value("3/fieldValue/integer", 1), WorkPhase::kProgressing,
       web + "not Available yet"},
      {"not available", value("2/fieldValue/string", "False"), WorkPhase::kProgressing,
       web + "not Available"},
      {"an object that was deleted", set("/conditions/1/status", "False"), WorkPhase::kProgressing,
       "the cluster has not applied every object"},
      {"unknown whether objects exist", set("/conditions/1", Json::object()),
       WorkPhase::kProgressing, "the cluster has not applied every object"},
      {"unknown whether they are applied", set("/conditions/0/status", "Unknown"),
       WorkPhase::kProgressing, "the cluster has not applied every object"},
      {"failed",
       [](Json& status) {
         status["conditions"][0]["status"] = "False";
         status["resourceStatus"]["manifests"][0]["conditions"][0] =
             Condition("Applied", "False", "Failed to apply manifest: no");
       },
       WorkPhase::kFailed, web + "Failed to apply manifest: no"},
      {"failed, nobody knows which",
       [](Json& status) { status["conditions"][0] = Condition("Applied", "False", "no"); },
       WorkPhase::kFailed, "no"},
      {"failed before the last change",
       [](Json& status) {
         status["conditions"][0]["status"] = "False";
         status["conditions"][0]["observedGeneration"] = 2;
       },
       WorkPhase::kProgressing, "the cluster has not applied every object"}};
  for (const Row& row : kRows) {
    Json json = Answered();
    row.change(json["status"]);
    PodPlacementWork work = Read(json);
    EXPECT_EQ(api::Describe(work.problems), "");
    EXPECT_EQ(work.Phase(), row.phase) << row.name;
    const api::Condition* condition = work.Succeeded();
    ASSERT_NE(condition, nullptr) << row.name;
    EXPECT_EQ(condition->message, row.message) << row.name;
    EXPECT_EQ(condition->status, row.phase == WorkPhase::kSucceeded ? "True" : "False") << row.name;
  }
}

TEST(ManifestWorkTest, TheLatestTimeOfTheAnswerCounts) {
  Json json = Answered();
  EXPECT_EQ(Read(json).Succeeded()->last_transition_time, "2026-01-01T00:00:00Z");
  json["status"]["conditions"][1]["lastTransitionTime"] = "2026-01-01T00:05:00Z";
  EXPECT_EQ(Read(json).Succeeded()->last_transition_time, "2026-01-01T00:05:00Z");
  json["status"]["resourceStatus"]["manifests"][1]["conditions"][0]["lastTransitionTime"] =
      "2026-01-01T00:10:00Z";
  EXPECT_EQ(Read(json).Succeeded()->last_transition_time, "2026-01-01T00:10:00Z");
}

TEST(ManifestWorkTest, AnAnswerThatFitsNothingIsNone) {
  Json many = Json::array();
  for (int i = 0; i < 5000; ++i) many.push_back(Condition("Applied", "True", "m"));
  const Json kStatus[] = {
      7,
      {{"conditions", 7}},
      {{"conditions", {7, "x", nullptr}}},
      {{"conditions", {{{"type", 7}}}}},
      {{"conditions", Json::array()}, {"resourceStatus", {{"manifests", many}}}},
  };
  for (const Json& status : kStatus) {
    Json json = Stored();
    json["status"] = status;
    EXPECT_EQ(Read(json).Phase(), WorkPhase::kProgressing) << status;
    EXPECT_EQ(Read(json).Succeeded(), nullptr) << status;
  }
  // A long message is cut, and only the first items of a list are read.
  Json json = Answered();
  json["status"]["conditions"] = Json::array({Condition("Applied", "False", "")});
  json["status"]["conditions"][0]["message"] = std::string(100'000, 'm');
  json["status"]["resourceStatus"]["manifests"] = many;
  EXPECT_EQ(Read(json).Phase(), WorkPhase::kFailed);
  EXPECT_EQ(Read(json).Succeeded()->message.size(), kMaxFailureMessage);
}

}  // namespace
}  // namespace fleet
