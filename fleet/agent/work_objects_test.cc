// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/work_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/testing/make_object.h"

namespace fleet {
namespace {

using kube::Json;
using testing::HasSubstr;

constexpr kube::WallTime kNow{};

Json Cppc() { return MakeClusterConfig(); }
Json Ppc() { return MakeConfig("ns", "web"); }

PodPlacementWork Work(std::vector<Json> objects) {
  PodPlacementWork work = MakeWork("c1").Set("/metadata/uid", "u1").As<PodPlacementWork>();
  work.spec.objects = std::move(objects);
  return work;
}

TEST(ObjectsOf, RefusesWhatIsNotAllowed) {
  struct Row {
    const char* name;
    const char* change;  // a merge patch on a PodPlacementConfig
    std::string_view reason;
  };
  const Row rows[] = {
      {"allowed", "{}", ""},
      {"binding", R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"})",
       kKindNotAllowed},
      {"pod", R"({"apiVersion": "v1", "kind": "Pod"})", kKindNotAllowed},
      {"kind of another group", R"({"apiVersion": "evil.io/v1beta1"})", kKindNotAllowed},
      {"another version", R"({"apiVersion": "multiarch.openshift.io/v1alpha1"})", kKindNotAllowed},
      {"another kind of the group", R"({"kind": "PodSchedulingPolicy"})", kKindNotAllowed},
      {"kind is no string", R"({"kind": {"a": 1}})", kKindNotAllowed},
      {"a list", R"({"kind": "List"})", kKindNotAllowed},
      {"no namespace", R"({"metadata": {"namespace": null}})", kInvalidWork},
      {"path as a name", R"({"metadata": {"name": "../../secrets/x"}})", kInvalidWork},
      {"path as a namespace", R"({"metadata": {"namespace": "a/b"}})", kInvalidWork},
      {"no metadata", R"({"metadata": 7})", kInvalidWork},
      {"config of another name",
       R"({"kind": "ClusterPodPlacementConfig", "metadata": {"name": "other"}})", kInvalidWork},
  };
  for (const Row& row : rows) {
    Json object = Ppc();
    object.merge_patch(kube::MustParseJson(row.change));
    WorkObjects objects = ObjectsOf(Work({Cppc(), object}));
    EXPECT_EQ(objects.problem ? objects.problem->reason : "", row.reason) << row.name;
    EXPECT_EQ(objects.objects.size(), row.reason.empty() ? 2 : 0) << row.name;
  }
  EXPECT_EQ(ObjectsOf(Work({Cppc(), Cppc()})).problem->reason, kInvalidWork);
  PodPlacementWork invalid = Work({Cppc()});
  invalid.problems.push_back({"spec.hash", "is required"});
  EXPECT_THAT(ObjectsOf(invalid).problem->message, HasSubstr("spec.hash"));
}

TEST(ObjectsOf, TakesNothingElseOfTheMetadata) {
  Json object = Ppc();
  object["metadata"].update(kube::MustParseJson(R"({"finalizers": ["x"], "ownerReferences": [{}],
    "uid": "1", "resourceVersion": "2", "generateName": "g", "managedFields": [],
    "labels": {"a": "b", "n": 1, "fleet.multiarch.openshift.io/work-uid": "other"}})"));
  object["status"] = {{"conditions", Json::array()}};
  WorkObjects objects = ObjectsOf(Work({object}));
  ASSERT_EQ(objects.objects.size(), 1);
  EXPECT_EQ(objects.objects[0].json, kube::MustParseJson(R"({
    "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "PodPlacementConfig",
    "metadata": {"namespace": "ns", "name": "web",
      "labels": {"a": "b", "fleet.multiarch.openshift.io/work-uid": "u1"},
      "annotations": {"fleet.multiarch.openshift.io/work": "team.web",
                      "fleet.multiarch.openshift.io/work-hash": "h1"}},
    "spec": {"priority": 1}})"));
}

TEST(ActionFor, OnlyOwnObjectsAreWritten) {
  struct Row {
    const char* name;
    const char* uid;  // the mark of the stored object; null: no object
    bool same;
    bool adopt;
    WorkAction want;
  };
  const Row rows[] = {
      {"missing", nullptr, false, false, WorkAction::kCreate},
      {"own, equal", "u1", true, false, WorkAction::kNothing},
      {"own, changed", "u1", false, false, WorkAction::kApply},
      {"foreign", "", false, false, WorkAction::kConflict},
      {"foreign, though equal", "", true, false, WorkAction::kConflict},
      {"foreign, adopted", "", false, true, WorkAction::kApply},
      {"of another work", "u2", false, false, WorkAction::kConflict},
      {"of another work, adopted", "u2", false, true, WorkAction::kConflict},
      {"of a work that is gone", "u9", false, false, WorkAction::kApply},
  };
  for (const Row& row : rows) {
    PodPlacementWork work = Work({Ppc()});
    work.spec.adopt = row.adopt;
    WorkObject object = ObjectsOf(work).objects[0];
    Json stored = object.json;
    if (!row.same) stored["spec"]["priority"] = 2;
    if (row.uid != nullptr && *row.uid == 0) stored["metadata"].erase("labels");
    if (row.uid != nullptr && *row.uid != 0)
      stored["metadata"]["labels"][std::string(kWorkUidLabel)] = row.uid;
    EXPECT_EQ(ActionFor(object, row.uid == nullptr ? nullptr : &stored, work, {"u1", "u2"}),
              row.want)
        << row.name;
  }
}

TEST(Contains, Table) {
  struct Row {
    const char* stored;
    const char* wanted;
    bool want;
  };
  const Row rows[] = {
      {R"({"a": 1, "b": 2})", R"({"a": 1})", true},
      {R"({"a": 1})", R"({"a": 2})", false},
      {R"({})", R"({"a": 1})", false},
      {R"({})", R"({"a": null, "b": {}})", true},
      {R"({})", R"({"a": []})", false},
      {R"({"a": [1, 2]})", R"({"a": [1]})", false},
      {R"({"a": [{"x": 1, "y": 2}]})", R"({"a": [{"x": 1}]})", true},
      {R"({"a": "1"})", R"({"a": 1})", false},
      {R"({"a": 1})", R"({"a": {"b": 1}})", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Contains(kube::MustParseJson(row.stored), kube::MustParseJson(row.wanted)), row.want)
        << row.stored << " " << row.wanted;
  }
}

TEST(AvailabilityProblem, TheOperatorReportsTheGeneration) {
  struct Row {
    const char* status;
    bool available;
  };
  const Row rows[] = {
      {"null", false},
      {R"({"conditions": 1})", false},
      {R"({"conditions": [7, {"type": "Degraded", "status": "True"}]})", false},
      {R"({"conditions": [{"type": "Available", "status": "False", "reason": "R"}]})", false},
      {R"({"conditions": [{"type": "Available", "status": "True", "observedGeneration": 2}]})",
       false},
      {R"({"conditions": [{"type": "Available", "status": "True", "observedGeneration": 3}]})",
       true},
      {R"({"conditions": [{"type": "Available", "status": "True"}]})", true},
  };
  WorkObject object = ObjectsOf(Work({Cppc()})).objects[0];
  for (const Row& row : rows) {
    Json stored = object.json;
    stored["metadata"]["generation"] = 3;
    stored["status"] = kube::MustParseJson(row.status);
    std::optional<WorkProblem> problem = AvailabilityProblem(object, stored);
    EXPECT_EQ(!problem, row.available) << row.status;
    EXPECT_FALSE(problem && problem->failed) << row.status;
  }
}

TEST(AnswerOf, TheFirstFailureDecides) {
  struct Row {
    std::vector<WorkProblem> problems;
    const char* want;
  };
  const Row rows[] = {
      {{}, "Succeeded True Succeeded"},
      {{{"Progressing", "a", false}}, "Progressing False Progressing"},
      {{{"Progressing", "a", false}, {"Conflict", "b", true}}, "Failed False Conflict"},
  };
  for (const Row& row : rows) {
    PodPlacementWork work = Work({Cppc()});
    PodPlacementWorkStatus status = AnswerOf(work, 4, row.problems, kNow);
    ASSERT_EQ(status.conditions.size(), 1);
    const api::Condition& condition = status.conditions[0];
    EXPECT_EQ(status.phase + " " + condition.status + " " + condition.reason, row.want);
    EXPECT_EQ(status.hash, "h1");
    EXPECT_EQ(condition.observed_generation, 4);
    // A minute later nothing has changed.
    work.status = status;
    EXPECT_EQ(AnswerOf(work, 4, row.problems, kNow + std::chrono::minutes(1)), status);
  }
}

}  // namespace
}  // namespace fleet
