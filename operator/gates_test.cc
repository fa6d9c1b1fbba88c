// SPDX-License-Identifier: Apache-2.0
#include "operator/gates.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::Error;
using kube::MakePod;
using kube::core::Pod;

const std::string kLocal(api::kLocalGate);
const std::string kCluster(api::kClusterGate);

class GatesTest : public testing::Test {
 protected:
  // "ns/name ns/name"
  std::string Gated(const std::string& ns, const std::string& gate, size_t limit = 500) {
    kube::Result<std::vector<Pod>> pods = kube::Run(io_, GatedPods(api_, ns, gate, limit));
    EXPECT_THAT(pods, kube::IsOk());
    std::string names;
    for (const Pod& pod : *pods) names += (names.empty() ? "" : " ") + kube::KeyOf(pod).ToString();
    return names;
  }
  kube::Result<> Drop(std::vector<std::string> gates) {
    return kube::Run(io_, DropGates(api_, api_.List<Pod>(), std::move(gates)));
  }

  boost::asio::io_context io_;
  kube::FakeApiServer api_;
};

TEST_F(GatesTest, FindsPodsByTheGateItselfNotByItsLabel) {
  api_.Create<Pod>(MakePod("a").Phase("Pending").Gate(kLocal));
  api_.Create<Pod>(MakePod("b").Phase("Pending").Gate(kCluster));
  api_.Create<Pod>(MakePod("c").Phase("Pending").Label(kLocal, "gated"));
  api_.Create<Pod>(MakePod("d").Namespace("other").Phase("Pending").Gate(kLocal));
  EXPECT_EQ(Gated("ns", kLocal), "ns/a");
  EXPECT_EQ(Gated("", kLocal), "ns/a other/d");
  EXPECT_EQ(Gated("", kCluster), "ns/b");
}

TEST_F(GatesTest, LooksAtAllPages) {
  for (int i = 0; i < 600; ++i) api_.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Phase("Pending"));
  api_.Create<Pod>(MakePod("q").Phase("Pending").Gate(kLocal));
  EXPECT_EQ(Gated("ns", kLocal), "ns/q");
}

TEST_F(GatesTest, StopsAtTheLimit) {
  for (const char* name : {"a", "b", "c"}) api_.Create<Pod>(MakePod(name).Phase("Pending").Gate(kLocal));
  EXPECT_EQ(Gated("ns", kLocal, 2), "ns/a ns/b");
}

TEST_F(GatesTest, DropsOnlyTheGatesThatItIsToldOf) {
  api_.Create<Pod>(MakePod("a").Gate("other").Gate(kLocal).Gate(kCluster).Label("app", "web"));
  ASSERT_THAT(Drop({kLocal}), kube::IsOk());
  Pod pod = *api_.Get<Pod>({"ns", "a"});
  EXPECT_FALSE(placement::HasGate(pod, kLocal));
  EXPECT_TRUE(placement::HasGate(pod, kCluster));
  EXPECT_TRUE(placement::HasGate(pod, "other"));
  EXPECT_EQ(pod.metadata().labels().at(kLocal), "removed");
  EXPECT_EQ(pod.metadata().labels().at("app"), "web");
  EXPECT_EQ(pod.metadata().labels().count(kCluster), 0u);
}

TEST_F(GatesTest, BothGatesGoInOneWrite) {
  api_.Create<Pod>(MakePod("a").Gate(kLocal).Gate(kCluster));
  ASSERT_THAT(Drop({kCluster, kLocal}), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(api_.Get<Pod>({"ns", "a"})->spec().scheduling_gates_size(), 0);
}

TEST_F(GatesTest, OnePodThatFailsKeepsNoOtherWaiting) {
  api_.Create<Pod>(MakePod("a").Gate(kLocal));
  api_.Create<Pod>(MakePod("b").Gate(kLocal));
  api_.FailNext(Error::Unavailable("503"), "PUT");
  EXPECT_THAT(Drop({kLocal}), kube::FailsWith(Code::kUnavailable));
  EXPECT_FALSE(placement::HasGate(*api_.Get<Pod>({"ns", "b"}), kLocal));
}

TEST_F(GatesTest, APodThatChangedIsLeftToTheNextTry) {
  api_.Create<Pod>(MakePod("a").Gate(kLocal));
  std::vector<Pod> seen = api_.List<Pod>();
  api_.Update<Pod>(MakePod("a").Gate(kLocal).Label("new", "1"));
  EXPECT_THAT(kube::Run(io_, DropGates(api_, seen, {kLocal})), kube::IsOk());
  EXPECT_TRUE(placement::HasGate(*api_.Get<Pod>({"ns", "a"}), kLocal));
}

}  // namespace
}  // namespace operator_
