// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/nodes/offered_architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/node_offers.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/core.pb.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace cluster_controller {
namespace {

using kube::Error;
using kube::Json;
using kube::MakePod;
using kube::core::Event;
using kube::core::Node;
using kube::core::Pod;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr char kGetNodes[] = "GET /api/v1/nodes";
constexpr char kGetPools[] = "GET /apis/karpenter.sh/v1/nodepools";

class OfferedArchitecturesTest : public ::testing::Test {
 protected:
  OfferedArchitecturesTest() { tasks_.Spawn("events", events_.Run()); }
  ~OfferedArchitecturesTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void AddNode(const std::string& name, const std::string& architecture) {
    Node node;
    node.mutable_metadata()->set_name(name);
    (*node.mutable_metadata()->mutable_labels())[std::string(api::kArchLabel)] = architecture;
    api_.Create(node);
  }
  void AddPool(const std::string& name, const std::string& architecture) {
    Json requirement = {{"key", api::kArchLabel}, {"operator", "In"}};
    requirement["values"] = Json::array({architecture});
    Json pool = {{"apiVersion", "karpenter.sh/v1"}, {"kind", "NodePool"}};
    pool["metadata"]["name"] = name;
    pool["spec"]["template"]["spec"]["requirements"] = Json::array({std::move(requirement)});
    api_.CreateJson(kNodePools, pool);
  }
  static MakePod Requiring(const std::string& name, const std::string& architecture) {
    return std::move(MakePod(name).Requires(api::kArchLabel, "In", {architecture}));
  }
  void Check(const std::string& name, const std::string& architecture) {
    offered_.Check(Requiring(name, architecture));
  }
  void Pass(kube::Duration time) {
    for (kube::Duration step = 1s; time > 0s; time -= step) {
      clock_.Advance(step);
      kube::Drain(io_);
    }
  }
  // The messages, by pod.
  std::map<std::string, std::string> Events() {
    std::map<std::string, std::string> messages;
    for (const Event& event : api_.List<Event>()) {
      EXPECT_EQ(event.reason(), api::kReasonNoNodeOffersArchitecture);
      EXPECT_EQ(event.type(), "Warning");
      EXPECT_EQ(event.count(), 1);
      messages[event.involved_object().name()] = event.message();
    }
    return messages;
  }
  std::vector<std::string> PodsWithEvent() {
    std::vector<std::string> pods;
    for (const auto& [pod, message] : Events()) pods.push_back(pod);
    return pods;
  }
  int Lists() { return api_.CountCalls(kGetNodes); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  OfferedArchitectures offered_{api_, clock_, tasks_, events_};
};

TEST_F(OfferedArchitecturesTest, APodWithoutANodeGetsAnEvent) {
  AddNode("n", "amd64");
  Check("web", "amd64");
  Check("arm", "arm64");
  offered_.Check(MakePod("anywhere"));
  kube::Drain(io_);
  EXPECT_THAT(api_.calls(), IsEmpty()) << "the release of pods has priority";
  Pass(kListOffersAfter + 1s);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("arm"));
  EXPECT_EQ(Events()["arm"],
            "No node now has an architecture that the pod requires, and no NodePool offers one: "
            "arm64. The pod stays Pending until such a node is added, for example by an "
            "autoscaler");
  EXPECT_EQ(api_.CountCalls(kGetPools), 1);
  EXPECT_EQ(Lists(), 1);
}

TEST_F(OfferedArchitecturesTest, ANodePoolIsEnough) {
  AddNode("n", "amd64");
  AddPool("arm", "arm64");
  Check("arm", "arm64");
  Check("s390x", "s390x");
  Pass(kListOffersAfter + 1s);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("s390x"));
}

// Without Karpenter, its CRDs are not installed.
TEST_F(OfferedArchitecturesTest, WithoutNodePoolsTheNodesDecide) {
  api_.FailNext(Error::NotFound("the server could not find the requested resource"), kGetPools);
  AddNode("n", "amd64");
  Check("web", "amd64");
  Check("arm", "arm64");
  Pass(kListOffersAfter + 1s);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("arm"));
}

TEST_F(OfferedArchitecturesTest, PodsThatFitCauseNoListForTenMinutes) {
  AddNode("n", "amd64");
  Check("first", "amd64");
  Pass(kListOffersAfter + 1s);
  for (int minute = 0; minute < 9; ++minute) {
    Check("web", "amd64");
    Pass(1min);
  }
  EXPECT_EQ(Lists(), 1);
  Pass(1min);
  // Its node may be gone by now.
  api_.Delete<Node>({"", "n"});
  Check("late", "amd64");
  Pass(kListOffersAfter + 1s);
  EXPECT_EQ(Lists(), 2);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("late"));
}

TEST_F(OfferedArchitecturesTest, AListIsNotRepeatedForEachPod) {
  constexpr int kPods = 1'000;
  AddNode("n", "amd64");
  for (int i = 0; i < kPods; ++i) {
    Check("arm-" + std::to_string(i), "arm64");
    // Within the five seconds.
    clock_.Advance(4ms);
    kube::Drain(io_);
  }
  Pass(30s);
  EXPECT_EQ(Events().size(), static_cast<size_t>(kPods));
  EXPECT_EQ(Lists(), 1);
  EXPECT_EQ(api_.CountCalls(kGetPools), 1);
}

// A node that was added before the release of a pod is not overlooked.
TEST_F(OfferedArchitecturesTest, ALaterPodWaitsForTheNextList) {
  AddNode("n", "amd64");
  Check("early", "arm64");
  Pass(kListOffersAfter + 1s);
  AddNode("m", "arm64");
  Check("fits-now", "arm64");
  Check("late", "s390x");
  Pass(kListOffersEvery - 2s);
  EXPECT_EQ(Lists(), 1);
  Pass(4s);
  EXPECT_EQ(Lists(), 2);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("early", "late"));
}

TEST_F(OfferedArchitecturesTest, APodThatComesDuringAListWaitsForTheNextOne) {
  AddNode("n", "amd64");
  Check("early", "arm64");
  bool meanwhile = false;
  api_.BeforeEach([&](const std::string& call) {
    if (call.find("nodepools") == std::string::npos || std::exchange(meanwhile, true)) return;
    Check("meanwhile", "arm64");
  });
  Pass(kListOffersAfter + 1s);
  EXPECT_TRUE(meanwhile);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("early"));
  AddNode("m", "arm64");
  Pass(2min);
  EXPECT_EQ(Lists(), 2);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("early"));
}

TEST_F(OfferedArchitecturesTest, ALargeClusterIsListedInPagesAndMoreSeldom) {
  constexpr int kNodes = 600;
  for (int i = 0; i < kNodes; ++i) AddNode("n" + std::to_string(i), "amd64");
  Check("early", "arm64");
  Pass(kListOffersAfter + 1s);
  int pages = Lists();
  EXPECT_GE(pages, 3);
  Check("late", "arm64");
  Pass(kListOffersEvery + kOffersForEachNode * kNodes - 2s);
  EXPECT_EQ(Lists(), pages);
  Pass(4s);
  EXPECT_EQ(Lists(), 2 * pages);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("early", "late"));
}

TEST_F(OfferedArchitecturesTest, NoEventUnlessEverythingIsKnown) {
  struct Row {
    const char* call;
    Error error;
  };
  const Row rows[] = {
      {kGetPools, Error::PermissionDenied("nodepools is forbidden")},
      {kGetPools, Error::Unavailable("503")},
      {kGetNodes, Error::PermissionDenied("nodes is forbidden")},
      {kGetNodes, Error::NotFound("404")},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.error.ToString());
    api_.FailNext(row.error, row.call);
    int calls = api_.CountCalls(row.call);
    Check("arm", "arm64");
    Pass(2min);
    EXPECT_EQ(api_.CountCalls(row.call), calls + 1);
    EXPECT_THAT(Events(), IsEmpty());
  }
  Check("later", "arm64");
  Pass(2min);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("later"));
}

TEST_F(OfferedArchitecturesTest, WithTooManyNodePoolsEverythingMayBeOffered) {
  for (size_t i = 0; i < kMaxNodePools; ++i) AddPool("pool-" + std::to_string(i), "amd64");
  Check("arm", "arm64");
  Pass(2min);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("arm"));
  AddPool("one-more", "amd64");
  Check("late", "arm64");
  Pass(2min);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("arm"));
}

TEST_F(OfferedArchitecturesTest, WaitingPodsAreLimited) {
  OfferedArchitectures limited(api_, clock_, tasks_, events_, {.per_namespace = 2, .total = 3});
  auto check = [&](const std::string& ns, const std::string& name) {
    limited.Check(Requiring(name, "arm64").Namespace(ns));
  };
  for (const char* name : {"a1", "a2", "a3"}) check("a", name);
  for (const char* name : {"b1", "b2"}) check("b", name);
  Pass(kListOffersAfter + 1s);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("a1", "a2", "b1"));
  // All of them are for the next list.
  for (const char* name : {"a4", "a5", "a6"}) check("a", name);
  Pass(2min);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("a1", "a2", "a4", "a5", "b1"));
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
}

TEST_F(OfferedArchitecturesTest, OnlyMetadataOfNodesIsRead) {
  struct Recorder final : kube::Client {
    explicit Recorder(kube::Client& client) : client(client) {}
    kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
      accepts[request.target.substr(0, request.target.find('?'))] = request.accept;
      return client.Call(std::move(request));
    }
    kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
      return client.Watch(std::move(request));
    }
    kube::Client& client;
    std::map<std::string, std::string> accepts;
  };
  Recorder recorder(api_);
  OfferedArchitectures offered(recorder, clock_, tasks_, events_);
  AddNode("n", "amd64");
  offered.Check(Requiring("arm", "arm64"));
  Pass(kListOffersAfter + 1s);
  EXPECT_THAT(PodsWithEvent(), ElementsAre("arm"));
  EXPECT_THAT(recorder.accepts["/api/v1/nodes"],
              AllOf(HasSubstr("application/vnd.kubernetes.protobuf"),
                    HasSubstr("as=PartialObjectMetadataList")));
  EXPECT_EQ(recorder.accepts["/apis/karpenter.sh/v1/nodepools"], "application/json");
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
}

}  // namespace
}  // namespace cluster_controller
