// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "api/names.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Result;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

Json Pod(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"namespace", "shop"}, {"name", name}}},
          {"spec", {{"containers", Json::array({{{"name", "main"}, {"image", "app:1"}}})}}}};
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { std::filesystem::remove(log_); }
  ~RecorderTest() override {
    if (recorder_ == nullptr) return;
    EXPECT_TRUE(kube::Run(io_, recorder_->Stop()));
  }

  void Start(RecorderOptions options = {.kinds = {kube::kPods, kube::kSecrets}}) {
    recorder_ =
        std::make_unique<Recorder>(api_, kube::RealClock(), io_.get_executor(), std::move(options));
    Result<> started = kube::Run(io_, recorder_->Start(10s));
    ASSERT_TRUE(started) << started.error();
  }
  // What the open watches have delivered.
  Recorded Take() {
    kube::Drain(io_);
    return recorder_->Take();
  }
  // Waits until so many watches were opened, or until there were so many lists of pods, and all
  // watches are open.
  void AwaitWatches(uint64_t count) {
    ASSERT_TRUE(kube::RunUntil(io_, [&] { return recorder_->watches() >= count; }));
  }
  void AwaitLists(int count, int watches) {
    ASSERT_TRUE(kube::RunUntil(io_, [&] {
      return api_.CountCalls("GET /api/v1/pods") >= count && api_.open_watches() == watches;
    }));
  }

  // A line of the audit log, with the answer as it is stored.
  void Log(const std::string& user, const std::string& verb, const Json& answer, int code = 200) {
    Json event = {
        {"kind", "Event"},
        {"level", "RequestResponse"},
        {"stage", "ResponseComplete"},
        {"verb", verb},
        {"user", {{"username", user}}},
        {"requestURI", "/api/v1/namespaces/shop/pods"},
        {"objectRef",
         {{"resource", "pods"}, {"namespace", "shop"}, {"name", answer["metadata"]["name"]}}},
        {"responseStatus", {{"code", code}}},
        {"requestObject", Pod("sent")},
        {"responseObject", answer},
        {"stageTimestamp", kube::FormatTime(kube::RealClock().WallNow())}};
    std::ofstream(log_, std::ios::app) << kube::DumpJson(event) << "\n";
  }

  static std::vector<std::string> Changes(const Recorded& recorded) {
    std::vector<std::string> changes;
    for (const auto& commit : recorded.commits)
      changes.push_back(commit.verb + " " + commit.key.name);
    return changes;
  }

  const std::string log_ = testing::TempDir() + "/recorder_audit.log";
  boost::asio::io_context io_;
  kube::FakeApiServer api_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(RecorderTest, RecordsEveryChange) {
  api_.CreateJson(kube::kPods, Pod("old"));
  Start();
  api_.CreateJson(kube::kPods, Pod("web"));
  api_.PatchJson(kube::kPods, {"shop", "web"}, {{"metadata", {{"labels", {{"a", "b"}}}}}});
  api_.DeleteJson(kube::kPods, {"shop", "web"});
  Recorded recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("list old", "create web", "update web", "delete web"));
  EXPECT_THAT(recorded.gaps, IsEmpty());
  const auto& update = recorded.commits[2];
  EXPECT_EQ(*update.before, *recorded.commits[1].after);
  EXPECT_EQ((*update.after)["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(update.user, "");
  EXPECT_THAT(Take().commits, IsEmpty());
}

TEST_F(RecorderTest, KnowsTheStateBeforeThePart) {
  Start();
  api_.CreateJson(kube::kPods, Pod("web"));
  Recorded first = Take();
  api_.PatchJson(kube::kPods, {"shop", "web"}, {{"metadata", {{"labels", {{"a", "b"}}}}}});
  Recorded second = Take();
  ASSERT_EQ(second.commits.size(), 1u);
  EXPECT_EQ(second.commits[0].before, first.commits[0].after);
}

TEST_F(RecorderTest, ResumesAWatchThatIsCut) {
  Start();
  api_.CreateJson(kube::kPods, Pod("a"));
  kube::Drain(io_);
  api_.Stop();
  kube::Drain(io_);
  api_.CreateJson(kube::kPods, Pod("b"));
  api_.DeleteJson(kube::kPods, {"shop", "b"});
  api_.Start();
  AwaitWatches(4);
  api_.CloseWatches();
  kube::Drain(io_);
  api_.CreateJson(kube::kPods, Pod("c"));
  AwaitWatches(6);
  Recorded recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("create a", "create b", "delete b", "create c"));
  EXPECT_THAT(recorded.gaps, IsEmpty());
}

TEST_F(RecorderTest, NotesAGap) {
  Start();
  api_.CreateJson(kube::kPods, Pod("a"));
  api_.CreateJson(kube::kPods, Pod("b"));
  kube::Drain(io_);
  api_.Stop();
  kube::Drain(io_);
  api_.DeleteJson(kube::kPods, {"shop", "a"});
  api_.PatchJson(kube::kPods, {"shop", "b"}, {{"metadata", {{"labels", {{"a", "b"}}}}}});
  api_.ExpireWatches();
  api_.Start();
  AwaitLists(2, 2);
  Recorded recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("create a", "create b", "list b", "delete a"));
  EXPECT_EQ(*recorded.commits[2].before, *recorded.commits[1].after);
  ASSERT_EQ(recorded.gaps.size(), 1u);  // not for the secrets, of which none has changed
  EXPECT_EQ(recorded.gaps[0].plural, "pods");
  EXPECT_LE(recorded.gaps[0].from, recorded.gaps[0].to);
  EXPECT_NE(recorded.gaps[0].why, "");
}

TEST_F(RecorderTest, ListWithoutChangesIsNoGap) {
  Start();
  api_.CreateJson(kube::kPods, Pod("a"));
  kube::Drain(io_);
  api_.ExpireWatches();
  AwaitLists(2, 2);
  Recorded recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("create a"));
  EXPECT_THAT(recorded.gaps, IsEmpty());
}

TEST_F(RecorderTest, KindThatIsNotServedYet) {
  api_.FailNext(Error::NotFound("no such kind"), "/secrets");
  Start();
  api_.CreateJson(kube::kPods, Pod("a"));
  AwaitWatches(2);
  EXPECT_EQ(api_.CountCalls("GET /api/v1/secrets"), 2);
  EXPECT_THAT(Changes(Take()), ElementsAre("create a"));
}

TEST_F(RecorderTest, KindThatEndsTakesItsObjectsAlong) {
  api_.CreateJson(kube::kPods, Pod("a"));
  Start();
  kube::Drain(io_);
  api_.FailNext(Error::NotFound("no such kind"), "WATCH /api/v1/pods");
  api_.CloseWatches();
  kube::Drain(io_);
  EXPECT_THAT(Changes(Take()), ElementsAre("list a", "delete a"));
}

TEST_F(RecorderTest, NamesWriters) {
  Start({.kinds = {kube::kPods}, .audit_logs = {log_}});
  Json created = api_.CreateJson(kube::kPods, Pod("web"));
  kube::Drain(io_);
  // The log comes later than the watch.
  EXPECT_THAT(kube::Run(io_, recorder_->Sync(100ms)).error().message(),
              HasSubstr("writer of pods shop/web"));
  Log("alice", "create", created);
  Result<> synced = kube::Run(io_, recorder_->Sync(10s));
  ASSERT_TRUE(synced) << synced.error();
  Recorded recorded = recorder_->Take();
  ASSERT_EQ(recorded.commits.size(), 1u);
  EXPECT_EQ(recorded.commits[0].user, "alice");
  EXPECT_EQ(*recorded.commits[0].sent, Pod("sent"));
}

TEST_F(RecorderTest, KnowsWhatWasRefused) {
  Start({.kinds = {kube::kPods}, .audit_logs = {log_}});
  for (int code : {200, 403, 409, 422, 503})
    Log("u" + std::to_string(code), "update", Pod("web"), code);
  Recorded recorded = recorder_->Take();
  ASSERT_EQ(recorded.refused.size(), 2u);
  EXPECT_EQ(recorded.refused[0].user, "u403");
  EXPECT_EQ(recorded.refused[1].user, "u422");
  EXPECT_EQ(recorded.refused[0].pod.ToString(), "shop/web");
  EXPECT_TRUE(recorder_->Take().refused.empty());
}

TEST_F(RecorderTest, WaitsForTheWatch) {
  Start({.kinds = {kube::kPods}, .audit_logs = {log_}});
  kube::Drain(io_);
  Json created = api_.CreateJson(kube::kPods, Pod("web"));
  Log("alice", "create", created);  // the event loop has not run since
  ASSERT_TRUE(kube::Run(io_, recorder_->Sync(10s)));
  EXPECT_THAT(Changes(recorder_->Take()), ElementsAre("create web"));
}

TEST_F(RecorderTest, WriteThatNoWatchDeliversIsAGap) {
  Start({.kinds = {kube::kPods}, .audit_logs = {log_}});
  api_.CreateJson(kube::kPods, Pod("a"));
  kube::Drain(io_);
  api_.Stop();
  kube::Drain(io_);
  // Created and deleted, and nothing shows it later but the log.
  Log("alice", "create", api_.CreateJson(kube::kPods, Pod("b")));
  api_.DeleteJson(kube::kPods, {"shop", "b"});
  api_.ExpireWatches();
  api_.Start();
  AwaitLists(2, 1);
  api_.CreateJson(kube::kPods, Pod("c"));
  Recorded recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("create a", "create c"));
  ASSERT_EQ(recorded.gaps.size(), 1u);
  EXPECT_THAT(recorded.gaps[0].why, HasSubstr("pods shop/b"));
}

TEST_F(RecorderTest, LineOfAnAPIServerThatWasKilled) {
  Start({.kinds = {kube::kPods}, .audit_logs = {log_}});
  Json created = api_.CreateJson(kube::kPods, Pod("web"));
  std::ofstream(log_, std::ios::app) << "{\"kind\":\"Event\",\"level\":\"RequestRes";
  Log("alice", "create", created);
  ASSERT_TRUE(kube::Run(io_, recorder_->Sync(10s)));
  EXPECT_EQ(recorder_->Take().commits.at(0).user, "alice");
}

TEST_F(RecorderTest, IsBounded) {
  Start({.kinds = {kube::kPods, kube::kSecrets}, .max_bytes = 3000});
  Json large = Pod("large");
  large["metadata"]["annotations"]["text"] = std::string(2000, 'x');
  api_.CreateJson(kube::kPods, large);
  large["metadata"]["name"] = "larger";
  api_.CreateJson(kube::kPods, large);
  Recorded recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("create large"));
  ASSERT_EQ(recorded.gaps.size(), 1u);
  EXPECT_EQ(recorded.gaps[0].plural, "pods");
  EXPECT_EQ(recorded.gaps[0].why, "memory");
  // From then on, there is room again.
  api_.CreateJson(kube::kPods, Pod("small"));
  recorded = Take();
  EXPECT_THAT(Changes(recorded), ElementsAre("create small"));
  EXPECT_THAT(recorded.gaps, IsEmpty());
}

TEST_F(RecorderTest, KeepsNoSecret) {
  Start();
  api_.CreateJson(kube::kSecrets, {{"apiVersion", "v1"},
                                   {"kind", "Secret"},
                                   {"metadata", {{"namespace", "shop"}, {"name", "keys"}}},
                                   {"data", {{"tls.key", "c2VjcmV0"}, {"ca.crt", "Y2E="}}}});
  Recorded recorded = Take();
  ASSERT_EQ(recorded.commits.size(), 1u);
  EXPECT_EQ((*recorded.commits[0].after)["data"], Json({{"ca.crt", "Y2E="}}));
}

TEST(RecordedKindsTest, HasWhatTheCheckerReads) {
  std::set<std::string> kinds;
  for (const kube::Resource& resource : RecordedKinds())
    EXPECT_TRUE(kinds.insert(std::string(resource.plural)).second) << resource.plural;
  for (const char* plural : {"pods", "namespaces", "podplacementconfigs",
                             "clusterpodplacementconfigs", "events", "leases", "deployments"})
    EXPECT_TRUE(kinds.contains(plural)) << plural;
}

}  // namespace
}  // namespace e2e
