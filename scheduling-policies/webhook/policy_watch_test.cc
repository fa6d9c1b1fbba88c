// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "scheduling-policies/testing/words.h"

namespace policy {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::core::Namespace;
using testing::ElementsAre;
using testing::IsEmpty;

class PolicyWatchTest : public testing::Test {
 protected:
  PolicyWatchTest() {
    watch_.OnSeen([this] { ++notified_; });
    tasks_.Spawn("watch", watch_.Run());
    kube::Drain(io_);
    PutNamespace("shop", {});
  }
  ~PolicyWatchTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void List() {
    watch_.List();
    kube::Drain(io_);
  }
  void PutNamespace(const std::string& name, std::map<std::string, std::string> labels) {
    Namespace ns;
    ns.mutable_metadata()->set_name(name);
    (*ns.mutable_metadata()->mutable_annotations())["example.com/large"] = std::string(10'000, 'x');
    for (const auto& [key, value] : labels) (*ns.mutable_metadata()->mutable_labels())[key] = value;
    api_.Get<Namespace>({"", name}) ? api_.Update(ns) : api_.Create(ns);
    kube::Drain(io_);
  }
  // Creates or replaces the policy of words.h; returns its version.
  uint64_t Put(const std::string& words, const std::string& ns = "shop") {
    Json json = PolicyJson(words);
    bool of_cluster = words[0] == 'C';
    if (!of_cluster) json["metadata"]["namespace"] = ns;
    const kube::Resource& kind =
        of_cluster ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies;
    kube::ObjectKey key{of_cluster ? "" : ns, json["metadata"]["name"]};
    std::optional<Json> present = api_.GetJson(kind, key);
    if (present) {
      (*present)["spec"] = json["spec"];
      json = api_.UpdateJson(kind, *present);
    } else {
      json = api_.CreateJson(kind, json);
    }
    kube::Drain(io_);
    return VersionNumber(kube::StringAt(json, "metadata.resourceVersion"));
  }
  std::vector<std::string> Names(const std::string& ns = "shop") {
    std::vector<std::string> names;
    auto selected = watch_.index().For(ns, {});
    if (!selected) return {selected.error().message()};
    for (const SchedulingPolicy* policy : selected->policies) names.push_back(policy->name);
    return names;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  int notified_ = 0;
  kube::SlowClient client_{api_};
  PolicyWatch watch_{client_, clock_};
};

TEST_F(PolicyWatchTest, ListsNothingBeforeItIsAsked) {
  Put("N-a k:v");
  EXPECT_FALSE(watch_.synced());
  EXPECT_EQ(watch_.Seen(), SeenVersions());
  EXPECT_THAT(api_.calls(), IsEmpty());
}

TEST_F(PolicyWatchTest, HasWhatIsStoredAndWhatChanges) {
  Put("C-c k:v");
  Put("N-a k:v");
  List();
  EXPECT_TRUE(watch_.synced());
  EXPECT_EQ(notified_, 1);
  EXPECT_THAT(Names(), ElementsAre("c", "a"));
  Put("N-b k:v");
  EXPECT_THAT(Names(), ElementsAre("c", "a", "b"));
  api_.DeleteJson(kPodSchedulingPolicies, {"shop", "a"});
  api_.DeleteJson(kClusterPodSchedulingPolicies, {"", "c"});
  kube::Drain(io_);
  EXPECT_THAT(Names(), ElementsAre("b"));
}

TEST_F(PolicyWatchTest, WorksWithoutStreamingLists) {
  api_.RefuseStreamingLists();
  uint64_t version = Put("N-a k:v");
  List();
  EXPECT_TRUE(watch_.synced());
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(watch_.Seen().policies, version);
}

TEST_F(PolicyWatchTest, LabelsOfNamespacesCount) {
  Json policy = PolicyJson("C-c k:v");
  policy["spec"]["namespaceSelector"] = {{"matchLabels", {{"env", "prod"}}}};
  api_.CreateJson(kClusterPodSchedulingPolicies, policy);
  List();
  EXPECT_THAT(Names(), IsEmpty());
  PutNamespace("shop", {{"env", "prod"}});
  EXPECT_THAT(Names(), ElementsAre("c"));
  PutNamespace("shop", {});
  EXPECT_THAT(Names(), IsEmpty());
  api_.Delete<Namespace>({"", "shop"});
  kube::Drain(io_);
  EXPECT_EQ(watch_.index().LabelsOf("shop"), nullptr);
}

TEST_F(PolicyWatchTest, SeenIsTheHighestVersionOfEachKind) {
  uint64_t cluster = Put("C-c k:v");
  Put("N-a k:v");
  List();
  uint64_t version = Put("N-b k:v");
  EXPECT_EQ(watch_.Seen(), (SeenVersions{.policies = version, .cluster_policies = cluster}));
  EXPECT_EQ(notified_, 2);
  version = Put("N-a k:w");
  EXPECT_EQ(watch_.Seen().policies, version);
  EXPECT_EQ(notified_, 3);
}

// The operator's own status writes cause no acknowledgement.
TEST_F(PolicyWatchTest, OnlyNewGenerationsNotify) {
  Put("N-a k:v");
  List();
  Json stored = *api_.GetJson(kPodSchedulingPolicies, {"shop", "a"});
  stored["status"]["observedGeneration"] = 1;
  stored = api_.UpdateJson(kPodSchedulingPolicies, stored);
  kube::Drain(io_);
  EXPECT_EQ(notified_, 1);
  EXPECT_EQ(watch_.Seen().policies,
            VersionNumber(stored["metadata"]["resourceVersion"].get<std::string>()))
      << "but the version counts at the next renewal";
}

TEST_F(PolicyWatchTest, ABadPolicyIsSeenAndSkippedAlone) {
  Put("N-good k:v");
  Json bad = PolicyJson("N-bad k:v");
  bad["spec"]["podSelector"] = {{"matchLabels", {{"not a key", "v"}}}};
  uint64_t version =
      VersionNumber(api_.CreateJson(kPodSchedulingPolicies, bad)["metadata"]["resourceVersion"]
                        .get<std::string>());
  List();
  EXPECT_THAT(Names(), ElementsAre("good"));
  EXPECT_EQ(watch_.Seen().policies, version);
}

// A list after 410 has no order: the newest policy may come first.
TEST_F(PolicyWatchTest, DuringAListNothingNewIsSeen) {
  uint64_t before = Put("N-m k:v");
  List();
  client_.Hold("/podschedulingpolicies");
  api_.ExpireWatches();
  Put("N-b k:v");
  uint64_t last = Put("N-a k:v");
  // The end of the watch, then the first policy of the list.
  for (int frame = 0; frame < 2; ++frame) {
    client_.Release(1);
    kube::Drain(io_);
    clock_.Advance(1s);
    kube::Drain(io_);
  }
  EXPECT_THAT(Names(), ElementsAre("a", "m"));
  EXPECT_EQ(watch_.Seen().policies, before);
  client_.Release();
  kube::Drain(io_);
  EXPECT_THAT(Names(), ElementsAre("a", "b", "m"));
  EXPECT_EQ(watch_.Seen().policies, last);
}

TEST_F(PolicyWatchTest, DuringTheFirstListNothingIsSeen) {
  Put("N-b k:v");
  uint64_t last = Put("N-a k:v");
  client_.Hold("/podschedulingpolicies");
  List();
  client_.Release(1);
  kube::Drain(io_);
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(watch_.Seen(), SeenVersions());
  EXPECT_EQ(notified_, 0);
  client_.Release();
  kube::Drain(io_);
  EXPECT_EQ(watch_.Seen().policies, last);
  EXPECT_EQ(notified_, 1);
}

TEST_F(PolicyWatchTest, ListsAgainFromNothing) {
  Put("N-a k:v");
  List();
  api_.FailNext(kube::Error::Unavailable("503"), "WATCH", 3);
  List();
  EXPECT_FALSE(watch_.synced());
  EXPECT_EQ(watch_.Seen(), SeenVersions());
  EXPECT_TRUE(watch_.index().empty());
  clock_.Advance(1s);
  kube::Drain(io_);
  EXPECT_TRUE(watch_.synced());
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(api_.open_watches(), 3) << "those of the list before are closed";
}

// A policy that fills the limit of one object, as a hostile owner of a namespace writes it.
std::string LargePolicy(const std::string& name) {
  std::string words = "N-" + name + " [";
  for (int i = 0; i < 10; ++i) {
    words += (i == 0 ? "z" : ",z") + std::to_string(i) + ":";
    for (int value = 0; value < 90; ++value) {
      words += (value == 0 ? "" : "|") + std::string(50, 'v') + std::to_string(value);
    }
  }
  return words + "]";
}

// p9 is the oldest. Five of them fit into a namespace.
class FullNamespaceTest : public PolicyWatchTest {
 protected:
  FullNamespaceTest() {
    List();
    for (int i = 9; i >= 0; --i) {
      Put(LargePolicy("p" + std::to_string(i)));
      clock_.Advance(1s);
    }
  }
  // Requests of a list that decides what fits.
  static constexpr char kOne[] = "fieldSelector";
};

TEST_F(FullNamespaceTest, TheOldestAreAppliedInWhateverOrderTheyArrive) {
  EXPECT_THAT(Names(), ElementsAre("p5", "p6", "p7", "p8", "p9"));
  EXPECT_EQ(api_.CountCalls(kOne), 0);
  // A list has the youngest first.
  List();
  EXPECT_TRUE(watch_.synced());
  EXPECT_THAT(Names(), ElementsAre("p5", "p6", "p7", "p8", "p9"));
  EXPECT_EQ(watch_.LeftOut("shop"), 5u);
  EXPECT_EQ(api_.CountCalls(kOne), 5) << "those that found the cache full";
}

// They may be Ready.
TEST_F(FullNamespaceTest, AListIsCompleteWhenAllThatFitWereRead) {
  client_.Hold(kOne);
  List();
  EXPECT_FALSE(watch_.synced());
  client_.Release(4);
  kube::Drain(io_);
  EXPECT_FALSE(watch_.synced());
  client_.Release();
  kube::Drain(io_);
  EXPECT_TRUE(watch_.synced());
  EXPECT_EQ(watch_.Seen().policies, api_.resource_version());
}

TEST_F(FullNamespaceTest, APolicyThatFitsAgainIsApplied) {
  client_.Hold(kOne);
  uint64_t before = watch_.Seen().policies;
  int notified = notified_;
  api_.DeleteJson(kPodSchedulingPolicies, {"shop", "p9"});
  kube::Drain(io_);
  EXPECT_THAT(Names(), ElementsAre("p5", "p6", "p7", "p8"));
  EXPECT_EQ(watch_.Seen().policies, before) << "it is not applied yet";
  client_.Release();
  kube::Drain(io_);
  EXPECT_THAT(Names(), ElementsAre("p4", "p5", "p6", "p7", "p8"));
  EXPECT_EQ(watch_.Seen().policies, api_.resource_version());
  EXPECT_GT(notified_, notified);
  EXPECT_EQ(watch_.LeftOut("shop"), 4u);

  // One that shrinks makes room as well, and one that grows takes it.
  Put("N-p8 k:v");
  EXPECT_THAT(Names(), ElementsAre("p3", "p4", "p5", "p6", "p7", "p8"));
  Put(LargePolicy("p8"));
  EXPECT_THAT(Names(), ElementsAre("p4", "p5", "p6", "p7", "p8"));
}

TEST_F(FullNamespaceTest, AReadThatFailsIsRepeated) {
  api_.FailNext(kube::Error::Unavailable("503"), kOne, 3);
  api_.DeleteJson(kPodSchedulingPolicies, {"shop", "p9"});
  for (int second = 0; second < 5; ++second) {
    clock_.Advance(1s);
    kube::Drain(io_);
  }
  EXPECT_THAT(Names(), ElementsAre("p4", "p5", "p6", "p7", "p8"));
}

TEST_F(FullNamespaceTest, WhatIsDeletedBeforeItIsReadIsNotAwaited) {
  client_.Hold(kOne);
  api_.DeleteJson(kPodSchedulingPolicies, {"shop", "p9"});
  api_.DeleteJson(kPodSchedulingPolicies, {"shop", "p4"});
  kube::Drain(io_);
  client_.Release();
  kube::Drain(io_);
  EXPECT_THAT(Names(), ElementsAre("p3", "p5", "p6", "p7", "p8"));
  EXPECT_EQ(watch_.Seen().policies, api_.resource_version());
}

// The cache has no room for all of them, and those of others come last.
TEST_F(PolicyWatchTest, ManySmallPoliciesOfANamespaceDelayNoOthers) {
  PutNamespace("zoo", {});
  auto create = [this](const std::string& ns, const std::string& name, Json spec) {
    api_.CreateJson(kPodSchedulingPolicies,
                    {{"metadata", {{"name", name}, {"namespace", ns}, {"generation", 1}}},
                     {"spec", std::move(spec)}});
  };
  for (int i = 0; i < 2'000; ++i)
    create("shop", std::string(200, 'x') + std::to_string(i), Json::object());
  for (int i = 0; i < 10; ++i) create("zoo", "p" + std::to_string(i), PolicyJson("N k:v")["spec"]);
  List();
  EXPECT_TRUE(watch_.synced());
  EXPECT_EQ(Names("zoo").size(), 10u);
  EXPECT_EQ(watch_.LeftOut("shop"), 2'000u - 256);
  EXPECT_EQ(watch_.LeftOut("zoo"), 0u);
  EXPECT_EQ(watch_.Seen().policies, api_.resource_version());
  EXPECT_EQ(api_.CountCalls("fieldSelector"), 0) << "none is read alone";

  create("zoo", "new", PolicyJson("N k:v")["spec"]);
  kube::Drain(io_);
  EXPECT_EQ(Names("zoo").size(), 11u);
  EXPECT_EQ(watch_.Seen().policies, api_.resource_version());
}

// Also small ones are applied that come when the cache is full.
TEST_F(PolicyWatchTest, ASmallPolicyIsAppliedBesideLargeOnes) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Put(LargePolicy(name));
  Put("N-small k:v");
  List();
  EXPECT_EQ(api_.CountCalls("fieldSelector"), 0);
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c", "d", "e", "small"));
}

TEST_F(PolicyWatchTest, TheNumberOfPoliciesIsLimited) {
  for (int i = 0; i < 10'010; ++i) {
    api_.CreateJson(kPodSchedulingPolicies,
                    {{"metadata", {{"name", "p" + std::to_string(i)}, {"namespace", "shop"}}},
                     {"spec", Json::object()}});
  }
  List();
  EXPECT_TRUE(watch_.synced());
  EXPECT_EQ(watch_.LeftOut(""), 10'000u - 256);
}

TEST_F(PolicyWatchTest, LargePoliciesOfANamespaceDoNotDisplaceOthers) {
  List();
  for (int i = 0; i < 20; ++i) Put(LargePolicy("p" + std::to_string(i)));
  size_t applied = Names().size();
  EXPECT_GT(applied, 2u);
  EXPECT_LT(applied, 10u) << "256 KiB of about 50 KB each";
  EXPECT_EQ(watch_.LeftOut("shop"), 20 - applied);
  EXPECT_EQ(watch_.LeftOut(""), 20 - applied);
  PutNamespace("other", {});
  Put("N-small k:v", "other");
  EXPECT_THAT(Names("other"), ElementsAre("small"));
  EXPECT_EQ(watch_.LeftOut("other"), 0u);

  for (int i = 0; i < 20; ++i)
    api_.DeleteJson(kPodSchedulingPolicies, {"shop", "p" + std::to_string(i)});
  kube::Drain(io_);
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(watch_.LeftOut(""), 0u);
}

}  // namespace
}  // namespace policy
