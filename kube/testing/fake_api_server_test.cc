// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_api_server.h"

#include <gtest/gtest.h>

#include "kube/testing/encoded_field.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "kube/types/workloads.h"

namespace kube {
namespace {

using testing::HasSubstr;

constexpr Resource kWidgets{"example.com", "v1", "widgets", "Widget"};
const ObjectKey kWeb{"ns", "web"};
const ObjectKey kW{"ns", "w"};

Unstructured Widget(Json spec) {
  Json body = {{"apiVersion", "example.com/v1"},
               {"kind", "Widget"},
               {"metadata", {{"name", "w"}, {"namespace", "ns"}}}};
  body["spec"] = std::move(spec);
  return Unstructured(std::move(body));
}

class FakeApiServerTest : public testing::Test {
 protected:
  template <class T>
  Result<T> Run(Async<T> task) {
    return kube::Run(io_, std::move(task));
  }
  // Types and names of the events that the watch has sent.
  std::vector<std::string> WatchPods(const std::string& query) {
    ApiRequest request{.target = "/api/v1/namespaces/ns/pods?watch=true&" + query,
                       .accept = std::string(kWatchAccept<core::Pod>)};
    Result<std::unique_ptr<WatchStream>> stream = Run(api_.Watch(std::move(request)));
    EXPECT_THAT(stream, IsOk());
    std::vector<std::string> seen;
    bool more = true;
    auto read = [](WatchStream* stream, std::vector<std::string>* seen,
                   bool* more) -> asio::awaitable<void> {
      while (true) {
        Result<std::optional<std::string>> frame = co_await stream->Next();
        if (!frame || !*frame) break;
        Result<WatchEvent<core::Pod>> event = DecodeFrame<core::Pod>(**frame);
        seen->push_back(event ? event->type + " " + event->object.metadata().name()
                              : event.error().ToString());
      }
      *more = false;
    };
    asio::co_spawn(io_, read(stream->get(), &seen, &more), [](std::exception_ptr) {});
    Drain(io_);
    if (more) api_.CloseWatches();
    Drain(io_);
    return seen;
  }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
};

TEST_F(FakeApiServerTest, SetsTheServersFields) {
  core::Pod pod = MakePod("").Image("r.io/app:1");
  pod.mutable_metadata()->set_generate_name("web-");
  Result<core::Pod> created = Run(Create<core::Pod>(api_, pod));
  ASSERT_THAT(created, IsOk());
  EXPECT_THAT(created->metadata().name(), HasSubstr("web-"));
  EXPECT_NE(created->metadata().uid(), "");
  EXPECT_EQ(created->metadata().resource_version(), std::to_string(api_.resource_version()));
  EXPECT_EQ(created->metadata().creation_timestamp().seconds(),
            std::chrono::system_clock::to_time_t(clock_.WallNow()));
  EXPECT_EQ(created->spec().containers(0).image(), "r.io/app:1");
  EXPECT_THAT(Run(Create<core::Pod>(api_, *created)), FailsWith(Code::kAlreadyExists));
}

TEST_F(FakeApiServerTest, UpdatesAreGuardedByTheResourceVersion) {
  core::Pod pod = api_.Create<core::Pod>(MakePod("web"));
  (*pod.mutable_metadata()->mutable_labels())["k"] = "v";
  Result<core::Pod> written = Run(Update<core::Pod>(api_, pod));
  ASSERT_THAT(written, IsOk());
  EXPECT_THAT(Run(Update<core::Pod>(api_, pod)), FailsWith(Code::kConflict))
      << "the old version once more";
  EXPECT_THAT(Run(Update<core::Pod>(api_, *written)), IsOk());
  EXPECT_EQ(api_.Get<core::Pod>(kWeb)->metadata().resource_version(),
            written->metadata().resource_version())
      << "an unchanged object keeps its version";
  EXPECT_THAT(Run(Update<core::Pod>(api_, MakePod("other"))), FailsWith(Code::kNotFound));
}

// Each encoding of a map may have another order.
TEST_F(FakeApiServerTest, TheOrderOfAnEncodedMapIsNoChange) {
  MakePod make("web");
  for (const char* key : {"a", "b", "c", "d", "e", "f"})
    make.Label(key, "v").Annotation(key, "v").NodeSelector(key, "v");
  core::Pod pod = api_.Create<core::Pod>(make);
  core::Secret secret;
  *secret.mutable_metadata() = pod.metadata();
  core::ConfigMap map;
  *map.mutable_metadata() = pod.metadata();
  workloads::Job job;
  *job.mutable_metadata() = pod.metadata();
  *job.mutable_spec()->mutable_template_()->mutable_spec() = pod.spec();
  workloads::DaemonSet daemon_set;
  *daemon_set.mutable_metadata() = pod.metadata();
  *daemon_set.mutable_spec()->mutable_template_()->mutable_spec() = pod.spec();
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    (*secret.mutable_data())[key] = "v";
    (*map.mutable_data())[key] = "v";
    (*map.mutable_binary_data())[key] = "v";
  }
  secret = api_.Create(secret);
  map = api_.Create(map);
  job = api_.Create(job);
  daemon_set = api_.Create(daemon_set);
  auto unchanged = [&](const auto& object) {
    auto written = Run(Update(api_, object));
    ASSERT_THAT(written, IsOk());
    EXPECT_EQ(written->metadata().resource_version(), object.metadata().resource_version());
  };
  for (int i = 0; i < 5; ++i) {
    unchanged(core::Pod(pod));
    unchanged(core::Secret(secret));
    unchanged(core::ConfigMap(map));
    unchanged(workloads::Job(job));
    unchanged(workloads::DaemonSet(daemon_set));
  }
}

TEST_F(FakeApiServerTest, AValueThatDiffersInAnEncodedMapIsAChange) {
  core::Pod pod = api_.Create<core::Pod>(
      MakePod("web").Label("a", "1").Label("b", "2").NodeSelector("a", "1").NodeSelector("b", "2"));
  auto changed = [&] {
    std::string before = pod.metadata().resource_version();
    Result<core::Pod> written = Run(Update(api_, core::Pod(pod)));
    ASSERT_THAT(written, IsOk());
    EXPECT_NE(written->metadata().resource_version(), before);
    pod = *written;
  };
  (*pod.mutable_metadata()->mutable_labels())["b"] = "3";
  changed();
  (*pod.mutable_metadata()->mutable_annotations())["c"] = "1";
  changed();
  (*pod.mutable_spec()->mutable_node_selector())["b"] = "3";
  changed();
}

// A field that only the real API knows.
TEST_F(FakeApiServerTest, AnUnknownFieldThatDiffersIsAChange) {
  core::Pod pod = MakePod("web").Label("a", "1").Label("b", "2");
  pod.mutable_spec()->mutable_unknown_fields()->append(EncodedField(24, "host"));
  pod = api_.Create(pod);
  Result<core::Pod> written = Run(Update(api_, core::Pod(pod)));
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->metadata().resource_version(), pod.metadata().resource_version());
  *pod.mutable_spec()->mutable_unknown_fields() = EncodedField(24, "tsoh");
  written = Run(Update(api_, core::Pod(pod)));
  ASSERT_THAT(written, IsOk());
  EXPECT_NE(written->metadata().resource_version(), pod.metadata().resource_version());
}

TEST_F(FakeApiServerTest, FinalizersDelayTheDeletion) {
  core::Pod pod = api_.Create<core::Pod>(MakePod("web").Finalizer("f"));
  ASSERT_THAT(Run(Delete<core::Pod>(api_, kWeb)), IsOk());
  pod = *api_.Get<core::Pod>(kWeb);
  EXPECT_TRUE(pod.metadata().has_deletion_timestamp());
  pod.mutable_metadata()->clear_finalizers();
  EXPECT_THAT(Run(Update<core::Pod>(api_, pod)), IsOk());
  EXPECT_FALSE(api_.Get<core::Pod>(kWeb));
  EXPECT_THAT(Run(Delete<core::Pod>(api_, kWeb)), FailsWith(Code::kNotFound));
}

TEST_F(FakeApiServerTest, DeletionHasPreconditions) {
  api_.Create<core::Pod>(MakePod("web"));
  DeleteOptions options{.uid = "another"};
  EXPECT_THAT(Run(Delete<core::Pod>(api_, kWeb, options)), FailsWith(Code::kConflict));
  EXPECT_TRUE(api_.Get<core::Pod>(kWeb));
}

TEST_F(FakeApiServerTest, ListsByPagesAndSelectors) {
  for (const char* name : {"a", "b", "c"}) api_.Create<core::Pod>(MakePod(name).Label("app", name));
  api_.Create<core::Pod>(MakePod("d").Node("n1"));
  ListOptions options{.ns = "ns", .limit = 2};
  EXPECT_EQ(Run(List<core::Pod>(api_, options))->items.size(), 4u);
  EXPECT_EQ(api_.CountCalls("GET "), 2);
  options.field_selector = "spec.nodeName=n1";
  EXPECT_EQ(Run(List<core::Pod>(api_, options))->items.at(0).metadata().name(), "d");
  options.field_selector = "spec.nodeName!=n1,metadata.name!=a";
  EXPECT_EQ(Run(List<core::Pod>(api_, options))->items.size(), 2u);
  options.field_selector = "";
  for (auto [selector, count] :
       std::initializer_list<std::pair<const char*, size_t>>{{"app", 3},
                                                             {"!app", 1},
                                                             {"app=a", 1},
                                                             {"app!=a", 3},
                                                             {"app in (a,b)", 2},
                                                             {"app notin (a, b),app", 1}}) {
    options.label_selector = selector;
    EXPECT_EQ(Run(List<core::Pod>(api_, options))->items.size(), count) << selector;
  }
  options.field_selector = "spec.hostname=x";
  EXPECT_THAT(Run(List<core::Pod>(api_, options)),
              FailsWith(Code::kInvalid, HasSubstr("not supported")));
}

TEST_F(FakeApiServerTest, PatchesJsonKinds) {
  Result<Unstructured> applied = Run(ApplyObject(api_, kWidgets, Widget({{"size", 1}}), {"test"}));
  ASSERT_THAT(applied, IsOk());
  EXPECT_EQ(IntAt(applied->body(), "metadata.generation"), 1);
  applied = Run(ApplyObject(api_, kWidgets, Widget({{"color", "red"}}), {"other"}));
  EXPECT_EQ(applied->body()["spec"], Json({{"size", 1}, {"color", "red"}}));
  EXPECT_EQ(IntAt(applied->body(), "metadata.generation"), 2);
  Json remove = MustParseJson(R"([{"op":"remove","path":"/spec/size"}])");
  EXPECT_THAT(Run(PatchObject(api_, kWidgets, kW, kJsonPatch, remove)), IsOk());
  EXPECT_THAT(Run(PatchObject(api_, kWidgets, kW, kJsonPatch, remove)), FailsWith(Code::kInvalid))
      << "no such path";
  Json null = {{"spec", {{"color", nullptr}}}};
  EXPECT_EQ(Run(PatchObject(api_, kWidgets, kW, kMergePatch, null))->body()["spec"],
            Json::object());
}

TEST_F(FakeApiServerTest, AnApplyRemovesWhatItsManagerAppliedBefore) {
  api_.CreateJson(kWidgets, Widget({{"size", 1}, {"of", {{"user", 1}}}}).body());
  Json former = {{"color", "red"}, {"of", {{"tool", 2}}}, {"deep", {{"er", true}}}};
  ASSERT_THAT(Run(ApplyObject(api_, kWidgets, Widget(former), {"test"})), IsOk());
  Result<Unstructured> applied =
      Run(ApplyObject(api_, kWidgets, Widget({{"shape", "round"}}), {"test"}));
  ASSERT_THAT(applied, IsOk());
  EXPECT_EQ(applied->body()["spec"],
            Json({{"size", 1}, {"of", {{"user", 1}}}, {"shape", "round"}}));
}

TEST_F(FakeApiServerTest, StatusIsWrittenSeparately) {
  api_.CreateJson(kWidgets, Widget({{"size", 1}}).body());
  Json both = {{"spec", {{"size", 2}}}, {"status", {{"ready", true}}}};
  Json body = Run(PatchObject(api_, kWidgets, kW, kMergePatch, both))->body();
  EXPECT_EQ(IntAt(body, "spec.size"), 2);
  EXPECT_FALSE(body.contains("status"));
  both["spec"]["size"] = 3;
  body = Run(PatchObject(api_, kWidgets, kW, kMergePatch, both, "status"))->body();
  EXPECT_EQ(IntAt(body, "spec.size"), 2);
  EXPECT_TRUE(BoolAt(body, "status.ready"));
  EXPECT_EQ(IntAt(body, "metadata.generation"), 2) << "status has no generation";
}

TEST_F(FakeApiServerTest, WatchesReportObjectsThatEnterAndLeaveTheirSelector) {
  std::string from = "resourceVersion=" + std::to_string(api_.resource_version());
  api_.Create<core::Pod>(MakePod("a"));
  api_.Create<core::Pod>(MakePod("b").Namespace("other"));
  api_.Update<core::Pod>(MakePod("a").Label("k", "v"));
  api_.Update<core::Pod>(MakePod("a").Node("n1"));
  api_.Update<core::Pod>(MakePod("a").Node("n1").Label("k", "w"));
  EXPECT_THAT(WatchPods(from + "&fieldSelector=spec.nodeName%3D"),
              testing::ElementsAre("ADDED a", "MODIFIED a", "DELETED a"));
}

TEST_F(FakeApiServerTest, StreamingListsEndWithABookmark) {
  api_.Create<core::Pod>(MakePod("a"));
  EXPECT_THAT(
      WatchPods(
          "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
      testing::ElementsAre("ADDED a", "BOOKMARK "));
}

TEST_F(FakeApiServerTest, OldVersionsExpire) {
  std::string from = "resourceVersion=" + std::to_string(api_.resource_version());
  api_.ExpireWatches();
  EXPECT_THAT(WatchPods(from), testing::ElementsAre(HasSubstr("Expired")));
}

TEST_F(FakeApiServerTest, FailsOnDemand) {
  api_.Create<core::Pod>(MakePod("web"));
  api_.FailNext(Error::Unavailable("503"), "PUT");
  api_.FailNext(Error::Throttled("429"));
  EXPECT_THAT(Run(Get<core::Pod>(api_, kWeb)), FailsWith(Code::kThrottled));
  EXPECT_THAT(Run(Get<core::Pod>(api_, kWeb)), IsOk());
  EXPECT_THAT(Run(Update<core::Pod>(api_, MakePod("web"))), FailsWith(Code::kUnavailable));
  api_.Stop();
  EXPECT_THAT(Run(Get<core::Pod>(api_, kWeb)), FailsWith(Code::kUnavailable));
  EXPECT_EQ(api_.CountCalls("GET /api/v1/namespaces/ns/pods/web"), 3);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(api_.CountWrites(), 1);
}

TEST_F(FakeApiServerTest, HooksRunBeforeEachCall) {
  core::Pod pod = api_.Create<core::Pod>(MakePod("web"));
  api_.BeforeEach([this](const std::string& call) {
    if (call.starts_with("PUT")) api_.Update<core::Pod>(MakePod("web").Label("faster", "yes"));
  });
  EXPECT_THAT(Run(Update<core::Pod>(api_, pod)), FailsWith(Code::kConflict));
}

TEST_F(FakeApiServerTest, TheOtherEncodingIsTranslated) {
  core::Pod pod = MakePod("web").Label("a", "1").Gate("example.com/gate");
  pod.mutable_spec()->mutable_unknown_fields()->append(EncodedField(24, "host"));
  api_.Create(pod);
  Result<Unstructured> json = Run(GetObject(api_, kPods, kWeb));
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(StringAt(json->body(), "kind"), "Pod");
  EXPECT_EQ(json->body()["spec"]["schedulingGates"], Json::array({{{"name", "example.com/gate"}}}));
  EXPECT_THAT(Run(ListObjects(api_, kPods, {.ns = "ns"}))->items, testing::SizeIs(1));

  // A write of JSON keeps what only protobuf knows, and the other way round.
  Json changed = json->body();
  changed["spec"]["hostname"] = "h";
  api_.UpdateJson(kPods, changed);
  Result<core::Pod> written = Run(Get<core::Pod>(api_, kWeb));
  ASSERT_THAT(written, IsOk());
  EXPECT_THAT(written->spec().unknown_fields(), HasSubstr(EncodedField(24, "host")));
  (*written->mutable_metadata()->mutable_labels())["a"] = "2";
  ASSERT_THAT(Run(Update(api_, *written)), IsOk());
  EXPECT_EQ(StringAt(*api_.GetJson(kPods, kWeb), "spec.hostname"), "h");
}

TEST_F(FakeApiServerTest, AnUnchangedWriteInTheOtherEncodingIsNoChange) {
  core::Pod pod = api_.Create<core::Pod>(MakePod("web").Label("a", "1").Label("b", "2"));
  api_.UpdateJson(kPods, *api_.GetJson(kPods, kWeb));
  EXPECT_EQ(api_.Get<core::Pod>(kWeb)->metadata().resource_version(),
            pod.metadata().resource_version());
}

TEST_F(FakeApiServerTest, WatchesTranslateToo) {
  std::string from = "resourceVersion=" + std::to_string(api_.resource_version());
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", "a"}, {"namespace", "ns"}}},
              {"spec", {{"hostname", "h"}}}};
  api_.CreateJson(kPods, pod);
  EXPECT_THAT(WatchPods(from), testing::ElementsAre("ADDED a"));
}

TEST_F(FakeApiServerTest, PatchesProtobufKinds) {
  api_.Create<core::Pod>(MakePod("web").Label("a", "1"));
  Json patch = {{"metadata", {{"annotations", {{"k", "v"}}}, {"labels", {{"a", nullptr}}}}}};
  ASSERT_THAT(Run(PatchObject(api_, kPods, kWeb, kMergePatch, patch)), IsOk());
  core::Pod pod = *api_.Get<core::Pod>(kWeb);
  EXPECT_EQ(pod.metadata().annotations().at("k"), "v");
  EXPECT_TRUE(pod.metadata().labels().empty());
  patch = {{"spec", {{"nodeName", 1}}}};
  EXPECT_THAT(Run(PatchObject(api_, kPods, kWeb, kMergePatch, patch)),
              FailsWith(Code::kInvalid, HasSubstr("spec.nodeName")));
}

TEST_F(FakeApiServerTest, KindsOfJsonHaveNoProtobuf) {
  api_.CreateJson(kWidgets, Widget({{"size", 1}}).body());
  ApiRequest request{.target = kWidgets.Path("ns", "w"), .accept = std::string(kProtobuf)};
  EXPECT_THAT(Run(api_.Call(request)), FailsWith(Code::kInvalid, HasSubstr("protobuf")));
}

}  // namespace
}  // namespace kube
