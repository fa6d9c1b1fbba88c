// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/testing/encoded_field.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
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

}  // namespace
}  // namespace kube
