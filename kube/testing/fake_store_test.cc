// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/base/notifier.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/testing/encoded_field.h"
#include "kube/testing/fake_admission.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/trusted_calls.h"
#include "kube/types/kinds.h"

namespace kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ObjectKey kWeb{"ns", "web"};
const Caller kAnn{.user = "ann"};

ApiRequest JsonRequest(Method method, std::string target, const Json& body) {
  return {.method = method,
          .target = std::move(target),
          .content_type = std::string(method == Method::kPatch ? kMergePatch : kJson),
          .body = DumpJson(body)};
}

class FakeStoreTest : public testing::Test {
 protected:
  Result<core::Pod> Update(const core::Pod& pod) {
    Result<ApiResponse> response = store_.Handle(kAnn, UpdateRequest(pod));
    if (!response) return response.error();
    return Decode<core::Pod>(response->body);
  }

  FakeClock clock_;
  FakeStore store_{clock_};
  TrustedCalls calls_{store_};
};

TEST_F(FakeStoreTest, ObserversSeeWhoChangedWhat) {
  std::vector<StoreCommit> commits;
  store_.Observe([&](const StoreCommit& commit) { commits.push_back(commit); });
  core::Pod pod = calls_.Create<core::Pod>(MakePod("web").Finalizer("f"));
  (*pod.mutable_metadata()->mutable_labels())["a"] = "1";
  ASSERT_THAT(Update(pod), IsOk());
  ASSERT_THAT(Update(*calls_.Get<core::Pod>(kWeb)), IsOk()) << "unchanged: no commit";
  Json phase = {{"status", {{"phase", "Running"}}}};
  ASSERT_THAT(
      store_.Handle(kAnn, JsonRequest(Method::kPatch, kPods.Path("ns", "web", "status"), phase)),
      IsOk());
  ASSERT_THAT(store_.Handle(kAnn, {.method = Method::kDelete, .target = kPods.Path("ns", "web")}),
              IsOk());
  Json released = {{"metadata", {{"finalizers", nullptr}}}};
  ASSERT_THAT(store_.Handle(kAnn, JsonRequest(Method::kPatch, kPods.Path("ns", "web"), released)),
              IsOk());

  std::vector<std::string> seen;
  for (const StoreCommit& commit : commits) {
    seen.push_back(commit.caller.user + " " + commit.verb + " " + commit.subresource);
    EXPECT_EQ(commit.collection, "/api/v1/pods");
    EXPECT_EQ(commit.key, kWeb);
  }
  EXPECT_THAT(seen, ElementsAre("test create ", "ann update ", "ann patch status", "ann delete ",
                                "ann patch "));
  ASSERT_EQ(commits.size(), 5u);
  EXPECT_EQ(commits[0].before, nullptr);
  EXPECT_EQ(StringAt(*commits[0].after, "kind"), "Pod");
  EXPECT_EQ(StringAt(*commits[1].before, "metadata.labels.a"), "");
  EXPECT_EQ(StringAt(*commits[1].after, "metadata.labels.a"), "1");
  EXPECT_EQ(StringAt(*commits[1].after, "metadata.resourceVersion"),
            std::to_string(commits[1].version));
  EXPECT_EQ(*commits[1].after, *commits[2].before);
  EXPECT_NE(StringAt(*commits[3].after, "metadata.deletionTimestamp"), "");
  EXPECT_NE(commits[4].before, nullptr);
  EXPECT_EQ(commits[4].after, nullptr);
}

// Controllers that decode pods without their status write them all the same.
TEST_F(FakeStoreTest, AWriteOfAnObjectKeepsItsStatus) {
  core::Pod pod = calls_.Create<core::Pod>(MakePod("web").Phase("Pending"));
  std::string fields = EncodedField(9, "Burstable");
  pod.mutable_status()->mutable_unknown_fields()->append(fields);
  pod.mutable_metadata()->add_managed_fields("\x0a\x01m");
  pod = calls_.Update(pod);
  pod.clear_status();
  pod.mutable_metadata()->clear_managed_fields();
  (*pod.mutable_metadata()->mutable_labels())["a"] = "1";
  Result<core::Pod> written = Update(pod);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->metadata().labels().at("a"), "1");
  EXPECT_EQ(written->status().phase(), "Pending");
  EXPECT_EQ(written->status().unknown_fields(), fields);
  EXPECT_EQ(written->metadata().managed_fields_size(), 1);
  written->mutable_status()->set_phase("Running");
  EXPECT_EQ(Update(*written)->status().phase(), "Pending") << "status is written by /status only";
}

TEST_F(FakeStoreTest, AWriteOfTheStatusKeepsTheObject) {
  core::Pod pod = calls_.Create<core::Pod>(MakePod("web").Label("a", "1").Phase("Pending"));
  pod.mutable_metadata()->clear_labels();
  pod.mutable_status()->set_phase("Running");
  ApiRequest request = UpdateRequest(pod);
  request.target += "/status";
  ASSERT_THAT(store_.Handle(kAnn, request), IsOk());
  pod = *calls_.Get<core::Pod>(kWeb);
  EXPECT_EQ(pod.status().phase(), "Running");
  EXPECT_EQ(pod.metadata().labels().at("a"), "1");
}

// Field 3 of these kinds is no status.
TEST_F(FakeStoreTest, KindsWithoutStatusAreWrittenAsAWhole) {
  core::Secret secret;
  secret.mutable_metadata()->set_name("web");
  secret.mutable_metadata()->set_namespace_("ns");
  secret.set_type("a");
  secret = calls_.Create(secret);
  secret.set_type("b");
  ASSERT_THAT(store_.Handle(kAnn, UpdateRequest(secret)), IsOk());
  EXPECT_EQ(calls_.Get<core::Secret>(kWeb)->type(), "b");
}

TEST_F(FakeStoreTest, StatusIsKeptAcrossEncodings) {
  core::Pod pod = calls_.Create<core::Pod>(MakePod("web").Phase("Pending"));
  Json json = *calls_.GetJson(kPods, kWeb);
  json.erase("status");
  json["metadata"]["labels"]["a"] = "1";
  ASSERT_THAT(store_.Handle(kAnn, JsonRequest(Method::kPut, kPods.Path("ns", "web"), json)),
              IsOk());
  EXPECT_EQ(StringAt(*calls_.GetJson(kPods, kWeb), "status.phase"), "Pending");
  pod = *calls_.Get<core::Pod>(kWeb);
  pod.clear_status();
  (*pod.mutable_metadata()->mutable_labels())["a"] = "2";
  ASSERT_THAT(Update(pod), IsOk());
  EXPECT_EQ(StringAt(*calls_.GetJson(kPods, kWeb), "status.phase"), "Pending");
}

TEST_F(FakeStoreTest, ADryRunStoresNothing) {
  int commits = 0;
  store_.Observe([&](const StoreCommit&) { ++commits; });
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"generateName", "web-"}}}};
  ApiRequest create = JsonRequest(Method::kPost, kPods.Path("ns") + "?dryRun=All", pod);
  uint64_t version = store_.resource_version();
  Result<ApiResponse> response = store_.Handle(kAnn, create);
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(StringAt(MustParseJson(response->body), "metadata.name"), HasSubstr("web-"));
  EXPECT_EQ(store_.resource_version(), version);
  EXPECT_EQ(commits, 0);
  EXPECT_THAT(calls_.List<core::Pod>(), IsEmpty());
  create.target = kPods.Path("ns");
  Result<ApiResponse> created = store_.Handle(kAnn, create);
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(StringAt(MustParseJson(created->body), "metadata.uid"),
            StringAt(MustParseJson(response->body), "metadata.uid"))
      << "the dry run used no uid";

  Json label = {{"metadata", {{"labels", {{"a", "1"}}}}}};
  std::string path = kPods.Path("ns", StringAt(MustParseJson(created->body), "metadata.name"));
  response = store_.Handle(kAnn, JsonRequest(Method::kPatch, path + "?dryRun=All", label));
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(StringAt(MustParseJson(response->body), "metadata.labels.a"), "1");
  EXPECT_THAT(
      store_.Handle(kAnn, JsonRequest(Method::kDelete, path, {{"dryRun", Json::array({"All"})}})),
      IsOk());
  EXPECT_THAT(store_.Handle(kAnn, JsonRequest(Method::kDelete, path + "?dryRun=All", Json())),
              IsOk());
  EXPECT_EQ(commits, 1) << "the create";
  EXPECT_TRUE(calls_.List<core::Pod>().at(0).metadata().labels().empty());
}

TEST_F(FakeStoreTest, ADryRunFailsAsTheWriteWould) {
  core::Pod pod = calls_.Create<core::Pod>(MakePod("web"));
  pod.mutable_metadata()->set_resource_version("1");
  ApiRequest request = UpdateRequest(pod);
  request.target += "?dryRun=All";
  EXPECT_THAT(store_.Handle(kAnn, request), FailsWith(Code::kConflict));
  request = UpdateRequest(pod);
  request.target += "?dryRun=Some";
  EXPECT_THAT(store_.Handle(kAnn, request), FailsWith(Code::kInvalid, HasSubstr("dryRun")));
}

class StoreRulesTest : public FakeStoreTest {
 protected:
  Result<ApiResponse> Call(Method method, const std::string& path, const Json& body = Json()) {
    return rules_.Handle(kAnn, JsonRequest(method, path, body));
  }
  Json Pod(const std::string& name) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", name}}},
            {"spec", {{"schedulingGates", Json::array({{{"name", "example.com/a"}}})}}}};
  }
  Json Namespace(const std::string& name) {
    return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
  }

  FakeStore rules_{clock_, {.pod_rules = true, .namespace_rules = true}};
  TrustedCalls others_{rules_};
};

TEST_F(StoreRulesTest, NewPodsArePending) {
  others_.CreateJson(kNamespaces, Namespace("ns"));
  Json pod = Pod("web");
  pod["status"]["phase"] = "Running";
  ASSERT_THAT(Call(Method::kPost, kPods.Path("ns"), pod), IsOk());
  core::Pod stored = *others_.Get<core::Pod>(kWeb);
  EXPECT_EQ(stored.status().phase(), "Pending");
  EXPECT_EQ(stored.status().conditions(0).reason(), "SchedulingGated");
  EXPECT_EQ(others_.Create<core::Pod>(MakePod("b").Phase("Running")).status().phase(), "Running");
}

TEST_F(StoreRulesTest, UpdatesOfPodsAreChecked) {
  others_.CreateJson(kNamespaces, Namespace("ns"));
  ASSERT_THAT(Call(Method::kPost, kPods.Path("ns"), Pod("web")), IsOk());
  Json gates = {{"spec", {{"schedulingGates", Json::array({{{"name", "example.com/b"}}})}}}};
  Result<ApiResponse> refused = Call(Method::kPatch, kPods.Path("ns", "web"), gates);
  ASSERT_THAT(refused, FailsWith(Code::kInvalid, HasSubstr("Pod \"web\" is invalid")));
  EXPECT_TRUE(refused.error().HasCause("FieldValueForbidden"));
  gates = {{"spec", {{"schedulingGates", nullptr}}}};
  EXPECT_THAT(Call(Method::kPatch, kPods.Path("ns", "web"), gates), IsOk());
}

TEST_F(StoreRulesTest, ObjectsNeedANamespace) {
  EXPECT_THAT(Call(Method::kPost, kPods.Path("ns"), Pod("web")),
              FailsWith(Code::kNotFound, HasSubstr("namespaces \"ns\" not found")));
  ASSERT_THAT(Call(Method::kPost, kNamespaces.Path(), Namespace("ns")), IsOk());
  Json ns = *others_.GetJson(kNamespaces, {"", "ns"});
  EXPECT_EQ(StringAt(ns, "status.phase"), "Active");
  EXPECT_EQ(ns["metadata"]["labels"]["kubernetes.io/metadata.name"], "ns");
  EXPECT_THAT(Call(Method::kPost, kPods.Path("ns"), Pod("web")), IsOk());
}

TEST_F(StoreRulesTest, NamespacesAreDeletedInTwoSteps) {
  others_.CreateJson(kNamespaces, Namespace("ns"));
  ASSERT_THAT(Call(Method::kPost, kPods.Path("ns"), Pod("web")), IsOk());
  const std::string path = kNamespaces.Path("", "ns");
  for (int i = 0; i < 2; ++i) ASSERT_THAT(Call(Method::kDelete, path), IsOk());
  Result<ApiResponse> refused = Call(Method::kPost, kPods.Path("ns"), Pod("other"));
  ASSERT_THAT(refused, FailsWith(Code::kPermissionDenied, HasSubstr("being terminated")));
  EXPECT_TRUE(refused.error().HasCause("NamespaceTerminating"));
  Json label = {{"metadata", {{"labels", {{"a", "1"}}}}}};
  EXPECT_THAT(Call(Method::kPatch, kPods.Path("ns", "web"), label), IsOk());
  EXPECT_THAT(Call(Method::kPatch, path, label), IsOk());
  EXPECT_TRUE(others_.GetJson(kNamespaces, {"", "ns"}));
  Json spec = {{"spec", {{"finalizers", nullptr}}}};
  EXPECT_THAT(Call(Method::kPatch, path, spec), IsOk());
  EXPECT_TRUE(others_.GetJson(kNamespaces, {"", "ns"})) << "only /finalize changes them";

  EXPECT_THAT(Call(Method::kDelete, kPods.Path("ns", "web")), IsOk());
  Json finalized = *others_.GetJson(kNamespaces, {"", "ns"});
  finalized["spec"]["finalizers"] = Json::array();
  EXPECT_THAT(Call(Method::kPut, path + "/finalize", finalized), IsOk());
  EXPECT_FALSE(others_.GetJson(kNamespaces, {"", "ns"}));
}

// Admission as a test wants it: waits until it is released, and then answers.
class Gatekeeper {
 public:
  AdmissionHook Hook() {
    return [this](AdmissionRequest request) { return Admit(std::move(request)); };
  }
  // Admits what has arrived, and all that arrives later.
  void Open() {
    open = true;
    arrived_.NotifyAll();
  }

  bool open = true;
  std::optional<Error> refusal;
  std::string label;  // what is set on each object
  std::vector<AdmissionRequest> requests;

 private:
  Async<Admitted> Admit(AdmissionRequest request) {
    requests.push_back(request);
    while (!open) {
      Result<> waited = co_await arrived_.Wait();
      if (!waited) co_return waited.error();
    }
    if (refusal) co_return *refusal;
    Admitted admitted;
    admitted.warnings.push_back("careful");
    if (!label.empty() && request.object != nullptr) {
      Json changed = *request.object;
      changed["metadata"]["labels"]["admitted"] = label;
      admitted.object = std::move(changed);
    }
    co_return admitted;
  }

  Notifier arrived_;
};

class AdmissionTest : public FakeStoreTest {
 protected:
  AdmissionTest() { store_.Admit(gate_.Hook()); }

  Result<ApiResponse> Call(ApiRequest request) {
    return kube::Run(io_, store_.Call(kAnn, std::move(request)));
  }
  // A call that waits for its admission.
  void Begin(ApiRequest request) {
    gate_.open = false;
    auto call = [](FakeStore* store, ApiRequest request,
                   std::optional<Result<ApiResponse>>* response) -> asio::awaitable<void> {
      Result<ApiResponse> result = co_await store->Call(kAnn, std::move(request));
      *response = std::move(result);
    };
    response_.reset();
    asio::co_spawn(io_, call(&store_, std::move(request), &response_), [](std::exception_ptr) {});
    Drain(io_);
    ASSERT_FALSE(response_);
  }
  Result<ApiResponse> End() {
    gate_.Open();
    Drain(io_);
    return response_ ? *response_ : Result<ApiResponse>(Error::Internal("the call did not end"));
  }
  ApiRequest Labelled(const std::string& value) {
    return JsonRequest(Method::kPatch, kPods.Path("ns", "web") + "?fieldManager=me",
                       {{"metadata", {{"labels", {{"a", value}}}}}});
  }

  asio::io_context io_;
  Gatekeeper gate_;
  std::optional<Result<ApiResponse>> response_;
};

TEST_F(AdmissionTest, SeesWritesAndChangesThem) {
  gate_.label = "yes";
  core::Pod pod = MakePod("web");
  Result<ApiResponse> created = Call({.method = Method::kPost,
                                      .target = kPods.Path("ns"),
                                      .content_type = std::string(kProtobuf),
                                      .body = Encode(pod)});
  ASSERT_THAT(created, IsOk());
  EXPECT_THAT(created->warnings, ElementsAre("careful"));
  EXPECT_EQ(calls_.Get<core::Pod>(kWeb)->metadata().labels().at("admitted"), "yes");
  gate_.label = "";
  ASSERT_THAT(Call(Labelled("1")), IsOk());
  ASSERT_THAT(Call({.method = Method::kDelete, .target = kPods.Path("ns", "web") + "?dryRun=All"}),
              IsOk());

  ASSERT_EQ(gate_.requests.size(), 3u);
  const AdmissionRequest& create = gate_.requests[0];
  EXPECT_EQ(create.operation, "CREATE");
  EXPECT_EQ(create.collection, "/api/v1/pods");
  EXPECT_EQ(create.key, kWeb);
  EXPECT_EQ(create.old_object, nullptr);
  EXPECT_EQ(create.caller.user, "ann");
  const AdmissionRequest& update = gate_.requests[1];
  EXPECT_EQ(update.operation, "UPDATE");
  EXPECT_EQ(update.field_manager, "me");
  EXPECT_EQ(StringAt(*update.object, "metadata.labels.a"), "1");
  EXPECT_EQ(StringAt(*update.old_object, "metadata.labels.a"), "");
  const AdmissionRequest& remove = gate_.requests[2];
  EXPECT_EQ(remove.operation, "DELETE");
  EXPECT_EQ(remove.object, nullptr);
  EXPECT_TRUE(remove.dry_run);
}

TEST_F(AdmissionTest, Refuses) {
  calls_.Create<core::Pod>(MakePod("web"));
  EXPECT_THAT(gate_.requests, IsEmpty()) << "a trusted call";
  gate_.refusal = Error::PermissionDenied("no");
  EXPECT_THAT(Call(Labelled("1")), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(Call({.method = Method::kDelete, .target = kPods.Path("ns", "web")}),
              FailsWith(Code::kPermissionDenied));
  EXPECT_TRUE(calls_.Get<core::Pod>(kWeb)->metadata().labels().empty());
}

TEST_F(AdmissionTest, AnUnguardedWriteIsMadeAgainOnWhatIsStored) {
  calls_.Create<core::Pod>(MakePod("web"));
  Begin(Labelled("1"));
  calls_.Update<core::Pod>(MakePod("web").Label("b", "2"));
  ASSERT_THAT(End(), IsOk());
  EXPECT_EQ(gate_.requests.size(), 2u);
  EXPECT_EQ(StringAt(*gate_.requests[1].old_object, "metadata.labels.b"), "2");
  core::Pod pod = *calls_.Get<core::Pod>(kWeb);
  EXPECT_EQ(pod.metadata().labels().at("a"), "1");
  EXPECT_EQ(pod.metadata().labels().at("b"), "2");
}

TEST_F(AdmissionTest, AGuardedWriteConflictsWithOneDuringAdmission) {
  core::Pod pod = calls_.Create<core::Pod>(MakePod("web"));
  Begin(UpdateRequest(pod));
  calls_.Update<core::Pod>(MakePod("web").Label("b", "2"));
  EXPECT_THAT(End(), FailsWith(Code::kConflict));
}

TEST_F(AdmissionTest, AnObjectMayVanishOrAppearDuringAdmission) {
  calls_.Create<core::Pod>(MakePod("web"));
  Begin(Labelled("1"));
  calls_.Delete<core::Pod>(kWeb);
  EXPECT_THAT(End(), FailsWith(Code::kNotFound));
  core::Pod pod = MakePod("web");
  Begin({.method = Method::kPost,
         .target = kPods.Path("ns"),
         .content_type = std::string(kProtobuf),
         .body = Encode(pod)});
  calls_.Create<core::Pod>(MakePod("web"));
  EXPECT_THAT(End(), FailsWith(Code::kAlreadyExists));
}

// Somebody else writes the object during each admission.
TEST_F(AdmissionTest, AWriteThatIsAlwaysOvertakenFails) {
  calls_.Create<core::Pod>(MakePod("web"));
  auto overtake = [this](AdmissionRequest request) -> Async<Admitted> {
    gate_.requests.push_back(request);
    calls_.Update<core::Pod>(MakePod("web").Label("n", std::to_string(gate_.requests.size())));
    return gate_.Hook()(std::move(request));
  };
  store_.Admit(overtake);
  EXPECT_THAT(Call(Labelled("1")), FailsWith(Code::kConflict, HasSubstr("too often")));
  EXPECT_EQ(gate_.requests.size(), 2u * FakeStore::kMaxAttempts);
}

}  // namespace
}  // namespace kube
