// SPDX-License-Identifier: Apache-2.0
#include "kube/cache/informer.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Resource kWidgets{"example.com", "v1", "widgets", "Widget"};

Json Widget(const std::string& name, int size) {
  return {{"apiVersion", "example.com/v1"},
          {"kind", "Widget"},
          {"metadata", {{"name", name}, {"namespace", "ns"}}},
          {"spec", {{"size", size}}}};
}

std::string Describe(EventType type, const std::string& name) {
  const char* names[] = {"added ", "modified ", "deleted "};
  return names[static_cast<int>(type)] + name;
}

class InformerTest : public testing::Test {
 protected:
  ~InformerTest() override {
    Result<> stopped = kube::Run(io_, tasks_.Stop(clock_, 1s));
    EXPECT_THAT(stopped, IsOk());
  }

  template <class T = core::Pod>
  void Start(InformerOptions<T> options = {}) {
    auto informer = std::make_unique<Informer<T>>(api_, clock_, std::move(options));
    informer->OnEvent([this](EventType type, const T& object) {
      events_.push_back(Describe(type, object.metadata().name()));
    });
    tasks_.Spawn("informer", informer->Run());
    Drain(io_);
    if constexpr (std::is_same_v<T, core::Pod>) {
      pods_ = std::move(informer);
    } else {
      widgets_ = std::move(informer);
    }
  }
  void AddPods(std::initializer_list<const char*> names) {
    for (const char* name : names) api_.Create<core::Pod>(MakePod(name).Image("r.io/app:1"));
  }
  // The events since the last call.
  std::vector<std::string> Events() {
    Drain(io_);
    return std::exchange(events_, {});
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    pods_->ForEach([&](const core::Pod& pod) { names.push_back(pod.metadata().name()); });
    return names;
  }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
  TaskGroup tasks_{io_.get_executor()};
  std::vector<std::string> events_;
  std::unique_ptr<Informer<core::Pod>> pods_;
  std::unique_ptr<Informer<Unstructured>> widgets_;
};

TEST_F(InformerTest, StartsWithTheExistingObjectsInOneStream) {
  AddPods({"a", "b"});
  Start();
  EXPECT_TRUE(pods_->synced());
  EXPECT_THAT(Events(), ElementsAre("added a", "added b"));
  EXPECT_EQ(pods_->size(), 2u);
  EXPECT_EQ(pods_->Get({"ns", "a"})->spec().containers(0).image(), "r.io/app:1");
  EXPECT_FALSE(pods_->Get({"ns", "c"}));
  EXPECT_EQ(api_.CountCalls("GET "), 0) << "streaming lists need no LIST";
}

class BudgetTest : public InformerTest {
 protected:
  static InformerOptions<core::Pod> Options() {
    InformerOptions<core::Pod> options;
    options.pack = [](std::string_view pod) -> Result<std::optional<std::string>> {
      return std::string(pod);
    };
    options.stub = [](std::string_view packed) {
      core::Pod whole, stub;
      EXPECT_TRUE(whole.ParseFromArray(packed.data(), static_cast<int>(packed.size())));
      stub.mutable_metadata()->set_namespace_(whole.metadata().namespace_());
      stub.mutable_metadata()->set_name(whole.metadata().name());
      return stub.SerializeAsString();
    };
    options.budget = {.object = 10'000, .one_namespace = 30'000, .total = 50'000};
    return options;
  }
  void Create(const std::string& ns, const std::string& name, size_t bytes) {
    api_.Create<core::Pod>(MakePod(name).Namespace(ns).Annotation("a", std::string(bytes, 'x')));
    Drain(io_);
  }
  // The objects that are held whole.
  int Whole(const std::string& ns) {
    int whole = 0;
    pods_->ForEachKey(
        [&](const ObjectKey& key) { whole += key.ns == ns && pods_->Complete(key) ? 1 : 0; });
    return whole;
  }
};

TEST_F(BudgetTest, ALargeObjectIsHeldAsAStub) {
  Start(Options());
  Create("ns", "large", 20'000);
  Create("ns", "small", 2'000);
  EXPECT_THAT(Events(), ElementsAre("added large", "added small"));
  EXPECT_FALSE(pods_->Complete({"ns", "large"}));
  EXPECT_EQ(pods_->Get({"ns", "large"})->metadata().annotations_size(), 0);
  EXPECT_TRUE(pods_->Complete({"ns", "small"}));
  EXPECT_EQ(pods_->Get({"ns", "small"})->metadata().annotations_size(), 1);
  EXPECT_TRUE(pods_->Complete({"ns", "absent"}));
  api_.Update<core::Pod>(MakePod("large").Namespace("ns"));
  EXPECT_THAT(Events(), ElementsAre("modified large"));
  EXPECT_TRUE(pods_->Complete({"ns", "large"}));
}

TEST_F(BudgetTest, ANamespaceBeyondItsBudgetLeavesRoomForOthers) {
  Start(Options());
  for (int i = 0; i < 20; ++i) Create("greedy", std::to_string(i), 5'000);
  EXPECT_EQ(pods_->size(), 20u);
  EXPECT_EQ(Whole("greedy"), 5);
  Create("modest", "web", 5'000);
  EXPECT_EQ(Whole("modest"), 1);
  // A deleted object frees its bytes; a changed one frees its old bytes first.
  for (int i = 0; i < 20; ++i)
    api_.Update<core::Pod>(MakePod(std::to_string(i)).Namespace("greedy"));
  Drain(io_);
  EXPECT_EQ(Whole("greedy"), 20);
  for (int i = 0; i < 20; ++i) api_.Delete<core::Pod>({"greedy", std::to_string(i)});
  Drain(io_);
  for (int i = 0; i < 5; ++i) Create("greedy", std::to_string(i), 5'000);
  EXPECT_EQ(Whole("greedy"), 5);
}

TEST_F(BudgetTest, TheTotalIsBounded) {
  Start(Options());
  for (const char* ns : {"a", "b", "c"}) {
    for (int i = 0; i < 4; ++i) Create(ns, std::to_string(i), 6'000);
  }
  EXPECT_EQ(Whole("a") + Whole("b") + Whole("c"), 8);
}

TEST_F(InformerTest, ObjectsBeyondTheirMaximumAreLeftOut) {
  AddPods({"a", "b"});
  InformerOptions<core::Pod> options;
  options.max_objects = 2;
  Start(std::move(options));
  AddPods({"c"});
  EXPECT_THAT(Events(), ElementsAre("added a", "added b"));
  api_.Delete<core::Pod>({"ns", "c"});
  api_.Delete<core::Pod>({"ns", "a"});
  EXPECT_THAT(Events(), ElementsAre("deleted a"));
  AddPods({"d"});
  EXPECT_THAT(Events(), ElementsAre("added d"));
}

TEST_F(InformerTest, AnObjectAsCborHasAStubToo) {
  auto widget = [&](const std::string& name, size_t bytes) {
    Json metadata = {{"name", name}, {"namespace", "ns"}};
    api_.CreateJson(kWidgets, {{"apiVersion", kWidgets.ApiVersion()},
                               {"kind", "Widget"},
                               {"metadata", metadata},
                               {"spec", {{"text", std::string(bytes, 'x')}}}});
  };
  InformerOptions<Unstructured> options{.resource = kWidgets};
  options.budget = {.object = 1'000, .one_namespace = 10'000, .total = 10'000};
  options.stub = [](std::string_view packed) {
    Json whole = UnpackJson(packed).value();
    Json stub;
    stub["metadata"]["name"] = whole["metadata"]["name"];
    return PackJson(stub);
  };
  widgets_ = std::make_unique<Informer<Unstructured>>(api_, clock_, std::move(options));
  tasks_.Spawn("widgets", widgets_->Run());
  widget("large", 2'000);
  widget("small", 20);
  Drain(io_);
  EXPECT_FALSE(widgets_->Complete({"ns", "large"}));
  EXPECT_EQ(widgets_->Get({"ns", "large"})->body(),
            MustParseJson(R"({"metadata": {"name": "large"}})"));
  EXPECT_TRUE(widgets_->Complete({"ns", "small"}));
}

TEST_F(InformerTest, CurrentIsTrueWhileTheWatchIsOpen) {
  Start();
  EXPECT_TRUE(pods_->current());
  api_.FailNext(Error::PermissionDenied("no more"), "WATCH", 1000);
  api_.CloseWatches();
  Drain(io_);
  EXPECT_TRUE(pods_->synced());
  EXPECT_FALSE(pods_->current());
}

TEST_F(InformerTest, IsSyncedWithoutObjects) {
  Start();
  EXPECT_TRUE(pods_->synced());
  EXPECT_EQ(pods_->size(), 0u);
}

TEST_F(InformerTest, WaitForSyncWaitsForTheWholeList) {
  api_.Stop();
  Start();
  std::optional<Result<>> synced;
  asio::co_spawn(io_, pods_->WaitForSync(),
                 [&](std::exception_ptr, Result<> result) { synced = std::move(result); });
  Drain(io_);
  EXPECT_FALSE(synced);
  api_.Start();
  clock_.Advance(1s);
  Drain(io_);
  ASSERT_TRUE(synced);
  EXPECT_THAT(*synced, IsOk());
}

TEST_F(InformerTest, FollowsChanges) {
  AddPods({"a"});
  Start();
  Events();
  AddPods({"b"});
  EXPECT_THAT(Events(), ElementsAre("added b"));
  api_.Update<core::Pod>(MakePod("a").Label("k", "v"));
  EXPECT_THAT(Events(), ElementsAre("modified a"));
  EXPECT_EQ(pods_->Get({"ns", "a"})->metadata().labels().at("k"), "v");
  api_.Delete<core::Pod>({"ns", "b"});
  EXPECT_THAT(Events(), ElementsAre("deleted b"));
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(InformerTest, LateHandlersGetTheCachedObjects) {
  AddPods({"a"});
  Start();
  std::vector<std::string> late;
  pods_->OnEvent([&](EventType type, const core::Pod& pod) {
    late.push_back(Describe(type, pod.metadata().name()));
  });
  EXPECT_THAT(late, ElementsAre("added a"));
}

TEST_F(InformerTest, ResumesWhereTheWatchEnded) {
  AddPods({"a"});
  Start();
  Events();
  api_.CloseWatches();
  AddPods({"b"});
  EXPECT_THAT(Events(), ElementsAre("added b"));
  EXPECT_EQ(api_.CountCalls("sendInitialEvents"), 1) << "no second list";
}

TEST_F(InformerTest, ResumesFromBookmarks) {
  Start();
  // Writes of other kinds increase the server's version; a bookmark reports it.
  api_.CreateJson(kWidgets, Widget("w", 1));
  api_.SendBookmarks();
  Drain(io_);
  std::string version = std::to_string(api_.resource_version());
  api_.CloseWatches();
  Drain(io_);
  EXPECT_EQ(api_.CountCalls("resourceVersion=" + version), 1) << api_.calls().back();
}

TEST_F(InformerTest, RelistsWhenItsVersionHasExpired) {
  AddPods({"a", "b"});
  Start();
  Events();
  api_.ExpireWatches();
  AddPods({"c"});
  EXPECT_THAT(Events(), ElementsAre("added c")) << "a and b have not changed";
  EXPECT_EQ(api_.CountCalls("sendInitialEvents"), 2);
}

TEST_F(InformerTest, ListsAgainWhenItsVersionIsTooLarge) {
  Start();
  Error restored = Error::FromHttpStatus(504, "Timeout", "ahead of the storage");
  api_.FailNext(restored.WithCauses({{"ResourceVersionTooLarge", "", ""}}), "WATCH");
  api_.CloseWatches();
  Drain(io_);
  clock_.Advance(30s);
  Drain(io_);
  EXPECT_EQ(api_.CountCalls("sendInitialEvents"), 2);

  api_.FailNext(restored, "WATCH");
  api_.CloseWatches();
  Drain(io_);
  clock_.Advance(30s);
  Drain(io_);
  EXPECT_EQ(api_.CountCalls("sendInitialEvents"), 2) << "another timeout: the version stays";
}

TEST_F(InformerTest, CatchesUpAfterAnOutage) {
  AddPods({"unchanged", "changed", "removed"});
  Start();
  Events();
  api_.Stop();
  Drain(io_);
  api_.Delete<core::Pod>({"ns", "removed"});
  api_.Update<core::Pod>(MakePod("changed").Label("k", "v"));
  AddPods({"new"});
  api_.ExpireWatches();
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(pods_->size(), 3u) << "the cache keeps its objects meanwhile";
  api_.Start();
  clock_.Advance(30s);
  EXPECT_THAT(Events(), UnorderedElementsAre("deleted removed", "modified changed", "added new"));
}

TEST_F(InformerTest, ReplacesRecreatedObjects) {
  AddPods({"a"});
  Start();
  std::string uid = pods_->Get({"ns", "a"})->metadata().uid();
  api_.Stop();
  Drain(io_);
  api_.Delete<core::Pod>({"ns", "a"});
  AddPods({"a"});
  api_.ExpireWatches();
  api_.Start();
  clock_.Advance(30s);
  Drain(io_);
  EXPECT_NE(pods_->Get({"ns", "a"})->metadata().uid(), uid);
}

TEST_F(InformerTest, BacksOffWhileTheServerIsUnavailable) {
  api_.Stop();
  Start();
  int attempts = api_.CountCalls("WATCH");
  for (int i = 0; i < 60; ++i) {
    clock_.Advance(1s);
    Drain(io_);
  }
  int in_a_minute = api_.CountCalls("WATCH") - attempts;
  EXPECT_GE(in_a_minute, 5);
  EXPECT_LE(in_a_minute, 15);
  clock_.Advance(10min);
  Drain(io_);
  // The maximum backoff: it has retried within 30 s.
  attempts = api_.CountCalls("WATCH");
  api_.Start();
  clock_.Advance(30s);
  Drain(io_);
  EXPECT_TRUE(pods_->synced());
  EXPECT_EQ(api_.CountCalls("WATCH"), attempts + 1);
}

TEST_F(InformerTest, ReportsHowLongThereHasBeenNoWatch) {
  Start();
  EXPECT_EQ(pods_->failing_for(), 0s);
  clock_.Advance(10min);
  EXPECT_EQ(pods_->failing_for(), 0s) << "an open watch without events is not a failure";
  api_.FailNext(Error::PermissionDenied("pods is forbidden"), "WATCH", 1000);
  api_.CloseWatches();
  Drain(io_);
  for (int i = 0; i < 60; ++i) {
    clock_.Advance(1s);
    Drain(io_);
  }
  EXPECT_TRUE(pods_->synced());
  EXPECT_GE(pods_->failing_for(), 59s);
}

TEST_F(InformerTest, ARestoredWatchCountsBeforeItsFirstEvent) {
  Start();
  api_.FailNext(Error::PermissionDenied("pods is forbidden"), "WATCH", 2);
  api_.CloseWatches();
  Drain(io_);
  EXPECT_EQ(pods_->failing_for(), 0s);
  clock_.Advance(100ms);
  EXPECT_GT(pods_->failing_for(), 0s);
  for (int i = 0; i < 60; ++i) {
    clock_.Advance(1s);
    Drain(io_);
  }
  EXPECT_EQ(api_.open_watches(), 1);
  EXPECT_EQ(pods_->failing_for(), 0s);
}

TEST_F(InformerTest, HonoursRetryAfter) {
  api_.FailNext(Error::Throttled("slow down").WithRetryAfter(90s), "WATCH");
  Start();
  clock_.Advance(89s);
  Drain(io_);
  EXPECT_FALSE(pods_->synced());
  clock_.Advance(1s);
  Drain(io_);
  EXPECT_TRUE(pods_->synced());
}

TEST_F(InformerTest, ListsByPagesIfStreamingIsRefused) {
  api_.RefuseStreamingLists();
  for (int i = 0; i < 501; ++i) AddPods({("p" + std::to_string(i)).c_str()});
  Start();
  EXPECT_TRUE(pods_->synced()) << "at once, without a backoff";
  EXPECT_EQ(pods_->size(), 501u);
  EXPECT_EQ(api_.CountCalls("GET "), 4);
  Events();
  api_.Delete<core::Pod>({"ns", "p7"});
  EXPECT_THAT(Events(), ElementsAre("deleted p7"));
  api_.ExpireWatches();
  api_.Delete<core::Pod>({"ns", "p8"});
  EXPECT_THAT(Events(), ElementsAre("deleted p8")) << "from the pages of the second list";
}

TEST_F(InformerTest, ListsByPagesIfStreamingIsUnknown) {
  api_.IgnoreStreamingLists();
  AddPods({"a"});
  Start();
  EXPECT_FALSE(pods_->synced()) << "the list may have only begun";
  api_.SendBookmarks();
  Drain(io_);
  EXPECT_TRUE(pods_->synced());
  EXPECT_EQ(api_.CountCalls("GET "), 1);
}

TEST_F(InformerTest, OtherErrorsDoNotDisableStreamingLists) {
  for (const Error& error :
       {Error::DeadlineExceeded("connect"), Error::Unavailable("503"), Error::Invalid("no HTTP"),
        Error::FromHttpStatus(422, "Invalid", "sendInitialEvents: in the message only")
            .WithCauses({{"FieldValueInvalid", "", "fieldSelector"}})}) {
    api_.FailNext(error, "WATCH");
  }
  Start();
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(30s);
    Drain(io_);
  }
  EXPECT_TRUE(pods_->synced());
  EXPECT_EQ(api_.CountCalls("sendInitialEvents"), 5);
  EXPECT_EQ(api_.CountCalls("GET "), 0);
}

TEST_F(InformerTest, AStreamThatBreaksDuringTheInitialEventsIsRetried) {
  api_.IgnoreStreamingLists();
  Start();
  api_.CloseWatches();
  Drain(io_);
  clock_.Advance(30s);
  Drain(io_);
  EXPECT_FALSE(pods_->synced());
  EXPECT_EQ(api_.CountCalls("sendInitialEvents"), 2);
  EXPECT_EQ(api_.CountCalls("GET "), 0);
}

TEST_F(InformerTest, ObjectsThatLeaveTheSelectorAreDeleted) {
  AddPods({"a", "b"});
  Start({.field_selector = "spec.nodeName="});
  Events();
  api_.Update<core::Pod>(MakePod("a").Node("n1"));
  EXPECT_THAT(Events(), ElementsAre("deleted a"));
  EXPECT_THAT(Names(), ElementsAre("b"));
}

TEST_F(InformerTest, KeepsOneNamespaceAndLabel) {
  api_.Create<core::Pod>(MakePod("a").Label("app", "x"));
  api_.Create<core::Pod>(MakePod("b").Label("app", "y"));
  api_.Create<core::Pod>(MakePod("c").Namespace("other").Label("app", "x"));
  Start({.ns = "ns", .label_selector = "app in (x,z)"});
  EXPECT_THAT(Names(), ElementsAre("a"));
}

// Caches pods with a gate, without their managed fields.
Result<std::optional<std::string>> PackGated(std::string_view bytes) {
  core::Pod pod;
  Result<void> parsed = ParseMessage(bytes, pod);
  if (!parsed) return parsed.error();
  if (pod.spec().scheduling_gates_size() == 0) return std::optional<std::string>();
  pod.mutable_metadata()->clear_managed_fields();
  return std::optional<std::string>(pod.SerializeAsString());
}

TEST_F(InformerTest, ObjectsThatPackDropsAreDeleted) {
  api_.Create<core::Pod>(MakePod("gated").Gate("g"));
  api_.Create<core::Pod>(MakePod("free"));
  Start({.pack = PackGated});
  EXPECT_THAT(Events(), ElementsAre("added gated"));
  api_.Update<core::Pod>(MakePod("free").Label("k", "v"));
  EXPECT_THAT(Events(), IsEmpty()) << "it was never in the cache";
  std::string last;
  pods_->OnEvent([&](EventType, const core::Pod& pod) {
    last = pod.metadata().labels().count("k") ? "new" : "old";
  });
  api_.Update<core::Pod>(MakePod("gated").Label("k", "v"));
  EXPECT_THAT(Events(), ElementsAre("deleted gated"));
  EXPECT_EQ(last, "new") << "the state that was dropped";
  EXPECT_EQ(pods_->size(), 0u);
  api_.Delete<core::Pod>({"ns", "gated"});
  EXPECT_THAT(Events(), IsEmpty()) << "deleted once";
  api_.Create<core::Pod>(MakePod("next").Gate("g"));
  EXPECT_THAT(Events(), ElementsAre("added next")) << "the watch continues";
}

TEST_F(InformerTest, CachesThePackedBytes) {
  core::Pod pod = MakePod("a").Gate("g");
  pod.mutable_metadata()->add_managed_fields("much");
  api_.Create(pod);
  Start({.pack = PackGated});
  EXPECT_EQ(pods_->Get({"ns", "a"})->metadata().managed_fields_size(), 0);
}

TEST_F(InformerTest, MalformedBytesReadAsAbsent) {
  AddPods({"a"});
  Start({.pack = [](std::string_view) { return std::optional<std::string>("no pod"); }});
  EXPECT_EQ(pods_->size(), 1u);
  EXPECT_FALSE(pods_->Get({"ns", "a"}));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(InformerTest, ReportsKeys) {
  AddPods({"a"});
  Start();
  std::vector<std::string> keys;
  pods_->OnChange([&](EventType type, const ObjectKey& key) {
    keys.push_back(Describe(type, key.ToString()));
  });
  AddPods({"b"});
  api_.Update<core::Pod>(MakePod("b").Label("k", "v"));
  api_.Delete<core::Pod>({"ns", "a"});
  Drain(io_);
  EXPECT_THAT(keys, ElementsAre("added ns/a", "added ns/b", "modified ns/b", "deleted ns/a"));
}

TEST_F(InformerTest, UnknownFieldsSurviveTheCache) {
  // PodSpec.hostname is field 16, which core.proto omits: "web-host".
  std::string hostname("\x82\x01\x08web-host");
  core::Pod pod = MakePod("a");
  pod.mutable_spec()->mutable_unknown_fields()->append(hostname);
  api_.Create(pod);
  Start();
  EXPECT_NE(pods_->Get({"ns", "a"})->SerializeAsString().find(hostname), std::string::npos);
}

TEST_F(InformerTest, CachesPodsAsBytes) {
  constexpr int kPods = 500;
  core::Pod pod = MakePod("")
                      .Image("registry.example.com/team/app:1.2.3")
                      .Gate("example.com/gate")
                      .Label("app", "web");
  for (int i = 0; i < 20; ++i)
    (*pod.mutable_metadata()->mutable_annotations())["key-" + std::to_string(i)] = "value";
  for (int i = 0; i < kPods; ++i) {
    pod.mutable_metadata()->set_name("web-6d4cf56db6-" + std::to_string(i));
    api_.Create(pod);
  }
  size_t before = mallinfo2().uordblks;
  Start();
  ASSERT_EQ(pods_->size(), static_cast<size_t>(kPods));
  std::exchange(events_, {}).shrink_to_fit();
  size_t each = (mallinfo2().uordblks - before) / kPods;
  // About 500 bytes serialized, more than 3,000 decoded. (Not measurable under a sanitizer.)
  EXPECT_LT(each, 1200u);
}

TEST_F(InformerTest, CachesJsonKindsAsObjects) {
  api_.CreateJson(kWidgets, Widget("w", 1));
  Start<Unstructured>({.resource = kWidgets});
  EXPECT_THAT(Events(), ElementsAre("added w"));
  Json changed = Widget("w", 2);
  api_.UpdateJson(kWidgets, changed);
  EXPECT_THAT(Events(), ElementsAre("modified w"));
  EXPECT_EQ(IntAt(widgets_->Get({"ns", "w"})->body(), "spec.size"), 2);
  api_.ExpireWatches();
  api_.DeleteJson(kWidgets, {"ns", "w"});
  EXPECT_THAT(Events(), ElementsAre("deleted w"));
}

// A JSON kind with a strict decoder.
struct Gadget {
  static Result<Gadget> FromJson(Json body) {
    if (IntAt(body, "spec.size") < 0) return Error::Invalid("size");
    return Gadget{MetadataFromJson(body)};
  }
  Json ToJson() const { return {}; }
  const meta::ObjectMeta& metadata() const { return meta; }
  meta::ObjectMeta meta;
};

TEST_F(InformerTest, OneBadObjectDoesNotStopTheOthers) {
  api_.CreateJson(kWidgets, Widget("bad", -1));
  api_.CreateJson(kWidgets, Widget("good", 1));
  Informer<Gadget> gadgets(api_, clock_, {.resource = kWidgets});
  tasks_.Spawn("gadgets", gadgets.Run());
  Drain(io_);
  EXPECT_TRUE(gadgets.synced());
  EXPECT_EQ(gadgets.size(), 1u);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
}

TEST_F(InformerTest, StopsWhenCancelledInEachWait) {
  api_.Stop();
  Start();  // waits for the backoff
  api_.Start();
  Informer<core::Pod> watching(api_, clock_, {});
  tasks_.Spawn("watching", watching.Run());
  Drain(io_);  // waits for a frame
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  EXPECT_EQ(tasks_.size(), 0u);
}

}  // namespace
}  // namespace kube
