// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/handler_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "exec-format/names.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/counting_observer.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace exec_format {
namespace {

using kube::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr char kNamespace[] = "ops";
constexpr char kId[] = "containerd://a1";

kube::Error Forbidden() {
  return kube::Error::FromHttpStatus(
      403, "Forbidden", R"(x is forbidden: User "pod-placement-controller" cannot do this)");
}

class HandlerFeatureTest : public testing::Test {
 protected:
  HandlerFeatureTest() {
    CreateNode("node-a", "arm64");
    CreateNode("node-b", "amd64");
    feature_.Start(tasks_);
    kube::Drain(io_);
  }
  ~HandlerFeatureTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void Enable(bool enabled = true) {
    api::MakeClusterConfig config;
    config.Set("/spec/plugins/execFormatErrorMonitor/enabled", enabled);
    auto parsed = api::ClusterPodPlacementConfig::FromJson(config.Build());
    ASSERT_TRUE(parsed) << parsed.error();
    feature_.Follow(&*parsed);
    kube::Drain(io_);
  }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }

  void CreateNode(const std::string& name, const std::string& architecture) {
    api_.CreateJson(
        kube::kNodes,
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata",
          {{"name", name}, {"labels", {{std::string(api::kArchLabel), architecture}}}}}});
  }
  static Json MakePod(const std::string& name, const std::string& node) {
    Json status = {{"name", "app"}, {"containerID", kId}};
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", name}, {"namespace", "shop"}, {"labels", {{"app", "web"}}}}},
            {"spec", {{"nodeName", node}, {"hostname", "kept"}}},
            {"status", {{"phase", "Running"}, {"containerStatuses", Json::array({status})}}}};
  }
  // Returns: its UID.
  std::string CreatePod(const std::string& name, const std::string& node = "node-a") {
    Json created = api_.CreateJson(kube::kPods, MakePod(name, node));
    return kube::StringAt(created, "metadata.uid");
  }
  ENoExecEvent Named(const std::string& pod) {
    ENoExecEvent event = WithoutStatus();
    event.node_name = "node-a";
    event.pod_namespace = "shop";
    event.pod_name = pod;
    event.container_id = kId;
    event.command = "/app/server";
    return event;
  }
  ENoExecEvent WithUid(const std::string& uid) {
    ENoExecEvent event = Named("");
    event.pod_namespace.clear();
    event.pod_uid = uid;
    return event;
  }
  ENoExecEvent WithoutStatus() {
    ENoExecEvent event;
    event.mutable_metadata()->set_name("e" + std::to_string(++created_));
    event.mutable_metadata()->set_namespace_(kNamespace);
    return event;
  }
  void Create(const ENoExecEvent& event) {
    api_.Create(event);
    kube::Drain(io_);
  }

  size_t Left() { return api_.List<ENoExecEvent>().size(); }
  Json Pod(const std::string& name) { return *api_.GetJson(kube::kPods, {"shop", name}); }
  bool IsLabelled(const std::string& name) {
    const Json pod = Pod(name);
    const Json* labels = kube::Find(pod, "metadata.labels");
    return labels != nullptr && labels->contains(std::string(kExecFormatErrorLabel));
  }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), "the events are sent");
    std::vector<std::string> events;
    for (const kube::core::Event& event : api_.List<kube::core::Event>())
      events.push_back(event.type() + " " + event.involved_object().kind() + "/" +
                       event.involved_object().namespace_() + "/" + event.involved_object().name() +
                       " " + event.reason() + ": " + event.message());
    return events;
  }
  double Handled() { return metrics_.handled.Value(); }
  double SkippedFor(Skipped why) { return metrics_.skipped(why).Value(); }
  // The object is deleted, and the pod has nothing.
  void ExpectSkipped(Skipped why) {
    EXPECT_EQ(Left(), 0u);
    EXPECT_EQ(SkippedFor(why), 1);
    EXPECT_EQ(Handled(), 0);
    EXPECT_THAT(Events(), IsEmpty());
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  kube::Metrics all_metrics_;
  HandlerMetrics metrics_{all_metrics_};
  kube::CountingObserver observer_;
  HandlerFeature feature_{kNamespace, api_, clock_, events_, metrics_, nullptr, &observer_};
  int created_ = 0;
};

TEST_F(HandlerFeatureTest, ThePodGetsAnEventAndALabel) {
  CreatePod("web");
  Enable();
  Create(Named("web"));
  EXPECT_THAT(Events(),
              ElementsAre(AllOf(HasSubstr("Warning Pod/shop/web ExecFormatError: "),
                                HasSubstr("Container \"app\""), HasSubstr("\"/app/server\""),
                                HasSubstr("the node node-a (arm64)"))));
  EXPECT_TRUE(IsLabelled("web"));
  EXPECT_EQ(Left(), 0u);
  EXPECT_EQ(Handled(), 1);
  // Nothing else of the pod has changed.
  Json pod = Pod("web");
  pod["metadata"]["labels"].erase(std::string(kExecFormatErrorLabel));
  Json made = MakePod("web", "node-a");
  EXPECT_EQ(pod["metadata"]["labels"], made["metadata"]["labels"]);
  EXPECT_EQ(pod["spec"], made["spec"]);
  EXPECT_EQ(pod["status"], made["status"]);
}

TEST_F(HandlerFeatureTest, APodIsFoundByItsUid) {
  CreatePod("other");
  std::string uid = CreatePod("web");
  Enable();
  Create(WithUid(uid));
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("Pod/shop/web ExecFormatError: ")));
  EXPECT_TRUE(IsLabelled("web"));
  EXPECT_FALSE(IsLabelled("other"));
  EXPECT_EQ(Left(), 0u);
  // Its name is known by now.
  int lists = api_.CountCalls("GET /api/v1/pods?");
  EXPECT_EQ(lists, 1);
  Create(WithUid(uid));
  EXPECT_EQ(Handled(), 2);
  EXPECT_EQ(api_.CountCalls("GET /api/v1/pods?"), lists);
}

TEST_F(HandlerFeatureTest, ANodeHasManyPods) {
  for (int i = 0; i < 300; ++i) CreatePod("a" + std::to_string(i));
  std::string uid = CreatePod("web");
  Enable();
  Create(WithUid(uid));
  EXPECT_TRUE(IsLabelled("web"));
  EXPECT_GT(api_.CountCalls("GET /api/v1/pods?"), 1);
}

TEST_F(HandlerFeatureTest, NothingIsWatchedWithoutThePlugin) {
  CreatePod("web");
  Create(Named("web"));
  Advance(1h);
  EXPECT_EQ(api_.CountCalls("enoexecevents"), 0);
  EXPECT_EQ(Left(), 1u);
}

TEST_F(HandlerFeatureTest, TheWatchEndsWithThePlugin) {
  CreatePod("web");
  Enable();
  EXPECT_EQ(api_.open_watches(), 1);
  Enable(false);
  EXPECT_EQ(api_.open_watches(), 0);
  Create(Named("web"));
  Advance(1h);
  EXPECT_EQ(Left(), 1u);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(HandlerFeatureTest, TheStatusIsWrittenAfterTheObject) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = WithoutStatus();
  Create(event);
  Advance(kStatusWithin - 1s);
  EXPECT_EQ(Left(), 1u);
  ENoExecEvent written = Named("web");
  *written.mutable_metadata() = event.metadata();
  api_.Update(written);
  kube::Drain(io_);
  EXPECT_EQ(Left(), 0u);
  EXPECT_THAT(Events(), SizeIs(1));
}

TEST_F(HandlerFeatureTest, AnObjectWithoutAStatusIsDeleted) {
  Enable();
  Create(WithoutStatus());
  Advance(kStatusWithin - 1s);
  EXPECT_EQ(Left(), 1u);
  Advance(1s);
  ExpectSkipped(Skipped::kNoStatus);
}

TEST_F(HandlerFeatureTest, AnOldObjectIsDeleted) {
  CreatePod("web");
  Create(Named("web"));
  Advance(kMaxAge + 1s);
  Enable();
  ExpectSkipped(Skipped::kTooOld);
  EXPECT_FALSE(IsLabelled("web"));
}

TEST_F(HandlerFeatureTest, APodOfAnotherNodeGetsNothing) {
  std::string uid = CreatePod("web", "node-b");
  Enable();
  Create(Named("web"));
  ExpectSkipped(Skipped::kNotMatched);
  Create(WithUid(uid));
  EXPECT_EQ(SkippedFor(Skipped::kNotMatched), 2);
  EXPECT_EQ(Left(), 0u);
  EXPECT_FALSE(IsLabelled("web"));
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(HandlerFeatureTest, APodOfAnotherUidGetsNothing) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = Named("web");
  event.pod_uid = "15778196-6e1f-4b5d-8012-12c7bf5c04b3";
  Create(event);
  ExpectSkipped(Skipped::kNotMatched);
  EXPECT_FALSE(IsLabelled("web"));
}

TEST_F(HandlerFeatureTest, APodThatIsGoneIsNormal) {
  Enable();
  Create(Named("web"));
  ExpectSkipped(Skipped::kNotMatched);
}

TEST_F(HandlerFeatureTest, NamesThatAreNotValidAreNotAskedFor) {
  Enable();
  ENoExecEvent event = Named("../../../nodes/node-a");
  Create(event);
  ExpectSkipped(Skipped::kNotMatched);
  event = WithUid("uid-1");
  event.node_name = "node-a,status.phase=Running";
  Create(event);
  EXPECT_EQ(SkippedFor(Skipped::kNotMatched), 2);
  EXPECT_EQ(api_.CountCalls("GET /api/v1/"), 0);
}

TEST_F(HandlerFeatureTest, ALargePodIsNotExamined) {
  Json pod = MakePod("web", "node-a");
  pod["metadata"]["annotations"]["a"] = std::string(kMaxPodBytes, 'x');
  api_.CreateJson(kube::kPods, pod);
  Enable();
  Create(Named("web"));
  ExpectSkipped(Skipped::kTooLarge);
}

TEST_F(HandlerFeatureTest, AContainerThatIsUnknownIsLookedForAgain) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = Named("web");
  event.container_id = "containerd://b2";
  Create(event);
  Advance(kContainerRetryAfter);
  EXPECT_EQ(Left(), 1u);
  api_.PatchJson(kube::kPods, {"shop", "web"},
                 {{"status",
                   {{"containerStatuses",
                     Json::array({{{"name", "late"}, {"containerID", "containerd://b2"}}})}}}});
  Advance(kContainerRetryAfter);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("Container \"late\"")));
  EXPECT_EQ(Left(), 0u);
}

TEST_F(HandlerFeatureTest, AContainerThatStaysUnknownIsNotNamed) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = Named("web");
  event.container_id = "containerd://b2";
  Create(event);
  for (int i = 0; i < kContainerRetries - 1; ++i) Advance(kContainerRetryAfter);
  EXPECT_EQ(Left(), 1u);
  Advance(kContainerRetryAfter);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("A container tried to execute")));
  EXPECT_EQ(Left(), 0u);
}

TEST_F(HandlerFeatureTest, AnArchitectureThatIsUnknownIsNotNamed) {
  api_.DeleteJson(kube::kNodes, {"", "node-a"});
  CreatePod("web");
  Enable();
  Create(Named("web"));
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("the node node-a. ")));
}

TEST_F(HandlerFeatureTest, TheArchitectureIsKeptForAWhile) {
  CreatePod("web");
  Enable();
  Create(Named("web"));
  Create(Named("web"));
  EXPECT_EQ(Handled(), 2);
  EXPECT_EQ(api_.CountCalls("GET /api/v1/nodes"), 1);
  Advance(kNodeLifetime);
  Create(Named("web"));
  EXPECT_EQ(api_.CountCalls("GET /api/v1/nodes"), 2);
}

TEST_F(HandlerFeatureTest, APodIsLabelledOnce) {
  CreatePod("web");
  Enable();
  Create(Named("web"));
  Create(Named("web"));
  EXPECT_EQ(Handled(), 2);
  EXPECT_EQ(api_.CountCalls("PUT "), 1);
}

TEST_F(HandlerFeatureTest, ALabelOfTheUserStays) {
  Json pod = MakePod("web", "node-a");
  pod["metadata"]["labels"][std::string(kExecFormatErrorLabel)] = "known";
  api_.CreateJson(kube::kPods, pod);
  Enable();
  Create(Named("web"));
  EXPECT_EQ(Pod("web")["metadata"]["labels"], pod["metadata"]["labels"]);
  EXPECT_EQ(api_.CountCalls("PUT "), 0);
  EXPECT_THAT(Events(), SizeIs(1));
}

TEST_F(HandlerFeatureTest, AHostileCommandBreaksNothing) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = Named("web");
  event.command = "\n\x1b[2J\" is fine. \xe2\x80\xae" + std::string(200, '\x01');
  Create(event);
  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_THAT(Events().front(),
              AllOf(HasSubstr(R"("\x0a\x1b[2J\x22 is fine. \xe2)"), HasSubstr("in the same way.")));
}

// The label of the decision before is not written; the pod is compared again.
TEST_F(HandlerFeatureTest, AConflictIsDecidedAgain) {
  CreatePod("web");
  Enable();
  int writes = 0;
  api_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("PUT ") || ++writes > 2) return;
    api_.PatchJson(kube::kPods, {"shop", "web"},
                   {{"metadata", {{"annotations", {{"n", std::to_string(writes)}}}}}});
  });
  Create(Named("web"));
  for (int i = 0; i < 5; ++i) Advance(1s);
  EXPECT_EQ(writes, 3);
  EXPECT_TRUE(IsLabelled("web"));
  EXPECT_EQ(kube::StringAt(Pod("web"), "metadata.annotations.n"), "2");
  EXPECT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(Left(), 0u);
}

TEST_F(HandlerFeatureTest, AConflictThatStaysCostsTheLabelAlone) {
  CreatePod("web");
  Enable();
  api_.FailNext(kube::Error::Conflict("others are faster"), "PUT ", 1'000);
  Create(Named("web"));
  for (int i = 0; i < 20; ++i) Advance(1s);
  EXPECT_EQ(api_.CountCalls("PUT "), kLabelAttempts);
  EXPECT_FALSE(IsLabelled("web"));
  EXPECT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(Left(), 0u);
}

// Between the read and the write.
TEST_F(HandlerFeatureTest, APodThatIsCreatedAgainIsNotLabelled) {
  std::string uid = CreatePod("web");
  Enable();
  bool is_first = true;
  api_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("PUT ") || !std::exchange(is_first, false)) return;
    api_.DeleteJson(kube::kPods, {"shop", "web"});
    clock_.Advance(1s);
    CreatePod("web");
  });
  Create(Named("web"));
  for (int i = 0; i < 5; ++i) Advance(1s);
  EXPECT_FALSE(is_first);
  EXPECT_FALSE(IsLabelled("web"));
  ExpectSkipped(Skipped::kNotMatched);
}

TEST_F(HandlerFeatureTest, APodThatIsDeletedMeanwhileIsNormal) {
  CreatePod("web");
  Enable();
  api_.BeforeEach([&](const std::string& call) {
    if (call.starts_with("PUT ")) api_.DeleteJson(kube::kPods, {"shop", "web"});
  });
  Create(Named("web"));
  ExpectSkipped(Skipped::kNotMatched);
}

TEST_F(HandlerFeatureTest, ARefusedLabelStopsNothingElse) {
  for (const kube::Error& error :
       {kube::Error::FromHttpStatus(403, "Forbidden", "denied by a policy of the tenant"),
        kube::Error::FromHttpStatus(422, "Invalid", "no such label"), Forbidden()}) {
    std::string name = "web" + std::to_string(++created_);
    CreatePod(name);
    Enable();
    api_.FailNext(error, "PUT ");
    Create(Named(name));
    EXPECT_FALSE(IsLabelled(name));
    EXPECT_EQ(Left(), 0u);
  }
  EXPECT_THAT(Events(), SizeIs(3));
  EXPECT_EQ(Handled(), 3);
}

TEST_F(HandlerFeatureTest, AnApiServerThatFailsIsAskedAgain) {
  CreatePod("web");
  Enable();
  kube::Error down = kube::Error::Unavailable("503");
  api_.FailNext(down, "GET /api/v1/namespaces/shop/pods/web");
  api_.FailNext(down, "GET /api/v1/nodes");
  api_.FailNext(down, "PUT ");
  api_.FailNext(down, "DELETE ", 2);
  Create(Named("web"));
  for (int i = 0; i < 10; ++i) Advance(1s);
  // Once, although the object was there several times.
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("(arm64)")));
  EXPECT_EQ(Handled(), 1);
  EXPECT_TRUE(IsLabelled("web"));
  EXPECT_EQ(Left(), 0u);
}

TEST_F(HandlerFeatureTest, NodesThatMayNotBeReadCostTheArchitectureAlone) {
  CreatePod("web");
  Enable();
  api_.FailNext(Forbidden(), "GET /api/v1/nodes");
  Create(Named("web"));
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("the node node-a. ")));
  EXPECT_EQ(Left(), 0u);
}

TEST_F(HandlerFeatureTest, AMissingRightIsTriedRarely) {
  CreatePod("web");
  Enable();
  api_.FailNext(Forbidden(), "DELETE ", 1'000);
  Create(Named("web"));
  for (int i = 0; i < 300; ++i) Advance(1s);
  EXPECT_LE(api_.CountCalls("DELETE "), 6);
  EXPECT_THAT(Events(), SizeIs(1));
  EXPECT_EQ(Handled(), 1);
}

// Manifests that are older than the program.
TEST_F(HandlerFeatureTest, AKindThatIsMissingIsWatchedLater) {
  CreatePod("web");
  Create(Named("web"));
  api_.FailNext(kube::Error::FromHttpStatus(404, "NotFound", "no such kind"), "enoexecevents", 5);
  Enable();
  EXPECT_EQ(Left(), 1u);
  for (int i = 0; i < 60; ++i) Advance(1s);
  EXPECT_EQ(Left(), 0u);
  EXPECT_THAT(Events(), SizeIs(1));
}

TEST_F(HandlerFeatureTest, AWatchThatIsForbiddenIsTriedRarely) {
  Enable(false);
  api_.FailNext(Forbidden(), "enoexecevents", 1'000'000);
  Enable();
  for (int i = 0; i < 600; ++i) Advance(1s);
  EXPECT_LE(api_.CountCalls("enoexecevents"), 60);
  EXPECT_EQ(observer_.reconciles, 0);
}

TEST_F(HandlerFeatureTest, APodGetsSoManyEvents) {
  CreatePod("web");
  CreatePod("other");
  Enable();
  for (size_t i = 0; i < kEventsOfPod + 2; ++i) Create(Named("web"));
  Create(Named("other"));
  for (int i = 0; i < 10; ++i) Advance(1s);
  EXPECT_EQ(Handled(), kEventsOfPod + 1);
  EXPECT_EQ(SkippedFor(Skipped::kTooMany), 2);
  EXPECT_EQ(Left(), 0u);
  Advance(kPodWindow);
  Create(Named("web"));
  EXPECT_EQ(Handled(), kEventsOfPod + 2);
}

TEST_F(HandlerFeatureTest, ManyObjectsCostLittle) {
  for (int i = 0; i < 40; ++i) {
    CreatePod("web" + std::to_string(i));
    Create(Named("web" + std::to_string(i)));
  }
  Enable();
  EXPECT_EQ(Handled(), kBurst);
  for (int i = 0; i < 10; ++i) Advance(kPeriod);
  EXPECT_EQ(Handled(), kBurst + 10);
  for (int i = 0; i < 20; ++i) Advance(kPeriod);
  EXPECT_EQ(Left(), 0u);
}

// The API server sends those that were left out with the next list.
TEST_F(HandlerFeatureTest, ObjectsBeyondTheLimitAreSeenLater) {
  CreatePod("web");
  constexpr size_t kObjects = kMaxObjects + 20;
  for (size_t i = 0; i < kObjects; ++i) Create(Named("web"));
  Advance(kMaxAge + 1s);
  Enable();
  for (size_t i = 0; i < kObjects; ++i) Advance(kPeriod);
  EXPECT_EQ(Left(), 0u);
  EXPECT_EQ(SkippedFor(Skipped::kTooOld), kObjects);
}

TEST_F(HandlerFeatureTest, OneThatIsBeingDeletedIsHandledOnce) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = Named("web");
  event.mutable_metadata()->add_finalizers("example.org/kept");
  Create(event);
  event = WithUid("uid-0");
  event.mutable_metadata()->add_finalizers("example.org/kept");
  Create(event);
  for (int i = 0; i < 700; ++i) Advance(1s);
  EXPECT_EQ(Left(), 2u);
  EXPECT_EQ(Handled(), 1);
  EXPECT_EQ(SkippedFor(Skipped::kNotMatched), 1);
  EXPECT_EQ(SkippedFor(Skipped::kTooOld), 0);
  EXPECT_EQ(api_.CountCalls("DELETE "), 2);
}

TEST_F(HandlerFeatureTest, OtherNamespacesAreNotWatched) {
  CreatePod("web");
  Enable();
  ENoExecEvent event = Named("web");
  event.mutable_metadata()->set_namespace_("shop");
  Create(event);
  EXPECT_EQ(Left(), 1u);
  EXPECT_THAT(Events(), IsEmpty());
}

}  // namespace
}  // namespace exec_format
