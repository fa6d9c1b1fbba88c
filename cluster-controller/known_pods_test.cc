// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/known_pods.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_reader.h"
#include "kube/testing/make_pod.h"

namespace cluster_controller {
namespace {

using kube::MakePod;
using kube::ObjectKey;
using kube::core::Pod;
using namespace std::chrono_literals;

class KnownPodsTest : public testing::Test {
 protected:
  // Returns its key.
  ObjectKey Add(const std::string& ns, const std::string& name, const std::string& uid = "1") {
    known_.Add(MakePod(name).Namespace(ns).Uid(uid));
    return {ns, name};
  }
  // The number of `count` more pods of the namespace that may await other gates.
  int Awaiting(const std::string& ns, int count) {
    int awaiting = 0;
    for (int i = 0; i < count; ++i)
      awaiting += known_.AwaitOtherGates(Add(ns, "web-" + std::to_string(i)));
    return awaiting;
  }

  kube::FakeClock clock_;
  KnownPods known_{clock_};
};

TEST_F(KnownPodsTest, ANamespaceMayHave1000AwaitingPodsAndTheCluster5000) {
  for (const char* ns : {"a", "b", "c", "d"}) EXPECT_EQ(Awaiting(ns, 1100), 1000) << ns;
  EXPECT_EQ(Awaiting("e", 999), 999);
  EXPECT_EQ(Awaiting("f", 3), 1) << "the cluster has 5000";
  EXPECT_EQ(Awaiting("g", 3), 1) << "a namespace without any may have one";
  EXPECT_EQ(known_.awaiting(), 5001u);

  // A pod that awaits others keeps its place, and its end makes room.
  EXPECT_TRUE(known_.AwaitOtherGates({"a", "web-0"}));
  EXPECT_FALSE(known_.AwaitOtherGates({"a", "web-1000"}));
  known_.EndAwaiting({"f", "web-0"});
  known_.EndAwaiting({"g", "web-0"});
  known_.Forget({"a", "web-0"});
  EXPECT_EQ(known_.awaiting(), 4998u);
  EXPECT_TRUE(known_.AwaitOtherGates({"a", "web-1000"}));
  EXPECT_FALSE(known_.AwaitOtherGates({"a", "web-1001"}));
}

TEST_F(KnownPodsTest, EveryWayOutOfThePodsMakesRoom) {
  ObjectKey replaced = Add("ns", "replaced"), forgotten = Add("ns", "forgotten"),
            deleted = Add("ns", "deleted");
  for (const ObjectKey& key : {replaced, forgotten, deleted})
    EXPECT_TRUE(known_.AwaitOtherGates(key));
  Add("ns", "replaced", "another UID");
  EXPECT_EQ(known_.awaiting(), 2u);
  EXPECT_FALSE(known_.Find(replaced)->awaits_other_gates);
  known_.Forget(forgotten);
  EXPECT_EQ(known_.awaiting(), 1u);
  kube::FakeReader<Pod> pods;
  pods.Put(MakePod("replaced"));
  known_.KeepOnly(pods);
  EXPECT_EQ(known_.awaiting(), 0u);
  EXPECT_EQ(known_.size(), 1u);
  EXPECT_FALSE(known_.AwaitOtherGates({"ns", "unknown"}));
  known_.EndAwaiting({"ns", "unknown"});
  EXPECT_EQ(known_.awaiting(), 0u);
}

TEST_F(KnownPodsTest, TheAgeOfAPodDoesNotCountWhileItAwaitsOthers) {
  ObjectKey web = Add("ns", "web");
  EXPECT_TRUE(known_.AwaitOtherGates(web));
  clock_.Advance(1h);
  ObjectKey other = Add("ns", "other");
  clock_.Advance(10s);
  EXPECT_EQ(known_.OldestAge(), 10s);
  known_.EndAwaiting(web);
  known_.EndAwaiting(other);
  clock_.Advance(5s);
  EXPECT_EQ(known_.OldestAge(), 15s) << "of the pod that awaited none";
  known_.Forget(other);
  EXPECT_EQ(known_.OldestAge(), 5s);
}

// The new term finds the same pods.
TEST_F(KnownPodsTest, ANewTermKeepsWhatAwaitsOthers) {
  ObjectKey web = Add("ns", "web");
  EXPECT_TRUE(known_.AwaitOtherGates(web));
  known_.BeginTerm();
  Add("ns", "web");
  EXPECT_EQ(known_.awaiting(), 1u);
  EXPECT_TRUE(known_.AwaitOtherGates(web));
  EXPECT_EQ(known_.awaiting(), 1u);
}

}  // namespace
}  // namespace cluster_controller
