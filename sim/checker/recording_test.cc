// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Json At(Json pod, int version) {
  pod["metadata"]["uid"] = "u1";
  pod["metadata"]["resourceVersion"] = std::to_string(version);
  return pod;
}

Json Audit(const std::string& user, const std::string& verb, const Json& answer,
           const std::string& name = "web") {
  return {{"stage", "ResponseComplete"},
          {"verb", verb},
          {"requestURI", "/api/v1/namespaces/shop/pods"},
          {"user", {{"username", user}}},
          {"objectRef", {{"resource", "pods"}, {"namespace", "shop"}, {"name", name}}},
          {"responseStatus", {{"code", 200}}},
          {"requestObject", Pod("web")},
          {"responseObject", answer}};
}

TEST(RecordingTest, JoinsWatchesAndAuditLog) {
  Json created = At(Gated(Pod("web"), api::kClusterGate), 5);
  Json placed = At(Placed(created, {"amd64"}), 9);
  Recording recording;
  recording.AddWatched("", "pods", "ADDED", created, 1s);
  recording.AddWatched("", "pods", "MODIFIED", placed, 2s);
  recording.AddWatched("", "pods", "DELETED", At(placed, 12), 3s);
  recording.AddAudit(Audit(kUser, "delete", {{"kind", "Status"}}));
  recording.AddAudit(Audit(kController, "update", placed));
  recording.AddAudit(Audit(kUser, "create", created, ""));

  std::vector<Commit> commits = recording.Commits();
  ASSERT_EQ(commits.size(), 3u);
  EXPECT_FALSE(commits[0].before);
  EXPECT_EQ(commits[0].user, kUser);
  EXPECT_EQ(commits[0].verb, "create");
  EXPECT_EQ(*commits[0].sent, Pod("web"));
  EXPECT_EQ(*commits[1].before, created);
  EXPECT_EQ(*commits[1].after, placed);
  EXPECT_EQ(commits[1].user, kController);
  EXPECT_EQ(commits[1].at, 2s);
  EXPECT_FALSE(commits[2].after);
  EXPECT_EQ(commits[2].verb, "delete");
  EXPECT_EQ(commits[2].user, kUser);
}

TEST(RecordingTest, SkipsFailuresAndDryRuns) {
  Json pod = At(Pod("web"), 5);
  Json failed = Audit(kController, "update", pod);
  failed["responseStatus"]["code"] = 409;
  Json dry = Audit(kController, "update", pod);
  dry["requestURI"] = "/api/v1/namespaces/shop/pods/web?dryRun=All";
  Recording recording;
  recording.AddWatched("", "pods", "ADDED", pod, 1s);
  recording.AddAudit(failed);
  recording.AddAudit(dry);
  recording.AddAudit(Audit(kController, "get", pod));
  ASSERT_EQ(recording.Commits().size(), 1u);
  EXPECT_EQ(recording.Commits()[0].user, "");
}

TEST(RecordingTest, IsTakenInParts) {
  Json created = At(Gated(Pod("web"), api::kClusterGate), 5);
  Json placed = At(Placed(created, {"amd64"}), 9);
  Recording recording;
  recording.AddWatched("", "pods", "LISTED", created, 1s);
  recording.AddAudit(Audit(kController, "update", placed), 1500ms);
  ASSERT_EQ(recording.AwaitedWrites().size(), 1u);
  EXPECT_EQ(recording.AwaitedWrites()[0].version, 9u);
  std::vector<Commit> commits = recording.Take();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].verb, "list");
  EXPECT_EQ(recording.AwaitedWrites().size(), 1u);

  recording.AddWatched("", "pods", "MODIFIED", placed, 2s);
  EXPECT_THAT(recording.AwaitedWrites(), IsEmpty());
  commits = recording.Take();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(*commits[0].before, created);
  EXPECT_EQ(commits[0].user, kController);
  EXPECT_EQ(commits[0].at, 1500ms);  // the watch was later than the write
  EXPECT_THAT(recording.Take(), IsEmpty());
}

TEST(RecordingTest, NamesTheCommitsWithoutWriter) {
  Json created = At(Pod("web"), 5), bound = At(Pod("web"), 6);
  bound["spec"]["nodeName"] = "node-1";
  Recording recording;
  recording.AddWatched("", "pods", "ADDED", created, 1s);
  recording.AddWatched("", "pods", "MODIFIED", bound, 2s);
  ASSERT_EQ(recording.UnnamedCommits(0s).size(), 1u);
  EXPECT_EQ(recording.UnnamedCommits(0s)[0]->version, 5u);
  EXPECT_THAT(recording.UnnamedCommits(1500ms), IsEmpty());
  recording.AddAudit(Audit(kUser, "create", created, ""));
  EXPECT_THAT(recording.UnnamedCommits(0s), IsEmpty());
}

TEST(RecordingTest, WriteThatChangesNothingIsNotTheWriter) {
  Json created = At(Pod("web"), 5);
  Recording recording;
  recording.AddWatched("", "pods", "ADDED", created, 1s);
  recording.AddAudit(Audit(kUser, "create", created, ""));
  recording.AddAudit(Audit(kController, "update", created));
  EXPECT_EQ(recording.Commits()[0].user, kUser);
}

// Watches deliver the pod web, and that it is being deleted. Returns it.
Json AddMarked(Recording& recording) {
  Json deleting = At(Pod("web"), 7);
  deleting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  recording.AddWatched("", "pods", "ADDED", At(Pod("web"), 5), 1s);
  recording.AddWatched("", "pods", "MODIFIED", deleting, 2s);
  return deleting;
}

TEST(RecordingTest, UpdateThatChangesNothingHasNotMarkedThePod) {
  Recording recording;
  const Json deleting = AddMarked(recording);
  recording.AddAudit(Audit(kController, "update", deleting));
  EXPECT_EQ(recording.Commits()[1].user, "");
}

TEST(RecordingTest, DeletionsOfACollectionHaveAWriter) {
  Recording recording;
  const Json deleting = AddMarked(recording);
  recording.AddWatched("", "pods", "DELETED", At(deleting, 9), 3s);
  recording.AddAudit(Audit(kUser, "deletecollection", {{"items", Json::array({deleting})}}, ""));
  std::vector<Commit> commits = recording.Commits();
  ASSERT_EQ(commits.size(), 3u);
  EXPECT_EQ(commits[1].user, kUser);
  EXPECT_EQ(commits[2].user, kUser);
  EXPECT_EQ(commits[2].verb, "delete");
}

TEST(RecordingTest, ObjectsThatWereGoneTogetherHaveOneVersion) {
  Recording recording;
  for (const char* name : {"a", "b"}) {
    recording.AddWatched("", "pods", "ADDED", At(Pod(name), name[0]), 1s);
    recording.AddWatched("", "pods", "DELETED", At(Pod(name), 200), 2s);
  }
  EXPECT_EQ(recording.Commits().size(), 4u);
}

TEST(RecordingTest, IsJudged) {
  Facts facts;
  facts.images.SetPlatforms(kImage, 0s, Image{.platforms = {{"linux", "amd64"}}});
  Json created = At(Labelled(Gated(Pod("web"), api::kClusterGate),
                             std::string(api::kPreferredNodeAffinityLabel), "not-set"),
                    5);
  Json right = At(Placed(created, {"amd64"}), 9), wrong = At(Placed(created, {"arm64"}), 9);
  for (const Json& placed : {right, wrong}) {
    Recording recording;
    recording.AddWatched("", "pods", "ADDED", created, 1min);
    recording.AddWatched("", "pods", "MODIFIED", placed, 2min);
    recording.AddAudit(Audit(kController, "update", placed));
    Checker checker(facts);
    for (const Commit& commit : recording.Commits()) checker.Add(commit);
    EXPECT_EQ(checker.violations().empty(), placed == right);
    EXPECT_EQ(checker.judged().judged, 1u);
  }
}

}  // namespace
}  // namespace sim::checker
