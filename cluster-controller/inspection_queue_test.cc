// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/inspection_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "cluster-controller/inspection_metrics.h"
#include "inspection/config/account_tokens.h"
#include "inspection/testing/fake_inspector.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using inspection::FakeInspector;
using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::ObjectKey;
using kube::Result;
using placement::ArchitectureSet;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The inspector's error for a pod that is gone.
const Error kGone = Error::FromHttpStatus(503, std::string(inspection::kPodGone), "pods not found");

class InspectionQueueTest : public ::testing::Test {
 protected:
  InspectionQueueTest() {
    queue_.OnResult([this](const ObjectKey& pod) { woken_.push_back(pod.name); });
  }
  ~InspectionQueueTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  std::optional<InspectionQueue::Result> Submit(const std::string& pod, const std::string& image) {
    return Submit("ns", pod, image);
  }
  std::optional<InspectionQueue::Result> Submit(const std::string& ns, const std::string& pod,
                                                const std::string& image) {
    auto result = queue_.Submit({ns, pod}, {.image = image});
    kube::Drain(io_);
    return result;
  }
  void SetResult(const std::string& image, Result<ArchitectureSet> result) {
    images_.SetResult(image, std::move(result));
    kube::Drain(io_);
  }

  kube::asio::io_context io_;
  kube::FakeClock clock_;
  kube::TaskGroup tasks_{io_.get_executor()};
  FakeInspector images_;
  kube::Metrics metrics_;
  InspectionMetrics inspection_metrics_{metrics_};
  InspectionQueue queue_{images_,
                         clock_,
                         tasks_,
                         inspection_metrics_,
                         {.per_registry = 2, .per_namespace = 8, .total = 8}};
  std::vector<std::string> woken_;
};

TEST_F(InspectionQueueTest, APodIsWokenAndThenGetsItsResult) {
  EXPECT_FALSE(Submit("web", "r.io/a"));
  EXPECT_THAT(woken_, IsEmpty());
  SetResult("r.io/a", ArchitectureSet{"arm64"});
  EXPECT_THAT(woken_, ElementsAre("web"));
  clock_.Advance(1h);
  auto result = Submit("web", "r.io/a");
  ASSERT_TRUE(result);
  ASSERT_THAT(*result, IsOk());
  EXPECT_THAT((*result)->platforms->platforms, ElementsAre(placement::Platform{"linux", "arm64"}));
  queue_.Forget({"ns", "web"});
  EXPECT_FALSE(Submit("web", "r.io/a"));
  EXPECT_EQ(images_.requests().size(), 2u);
}

TEST_F(InspectionQueueTest, CachedImagesAreNotQueued) {
  images_.SetResult("r.io/a", ArchitectureSet{"amd64"});
  images_.SetCached("r.io/a");
  EXPECT_TRUE(Submit("web", "r.io/a"));
  EXPECT_THAT(images_.inspected(), IsEmpty());
}

TEST_F(InspectionQueueTest, PodsWithEqualRequestsShareOneInspection) {
  for (const char* pod : {"a", "b", "c"}) EXPECT_FALSE(Submit(pod, "r.io/a"));
  SetResult("r.io/a", Error::NotFound("registry r.io: 404"));
  EXPECT_THAT(woken_, ElementsAre("a", "b", "c"));
  for (const char* pod : {"a", "b", "c"})
    EXPECT_THAT(*Submit(pod, "r.io/a"), FailsWith(Code::kNotFound));
  EXPECT_EQ(images_.requests().size(), 1u);
}

// With the real inspector: pods of many namespaces, with credentials for other registries.
TEST_F(InspectionQueueTest, ManyNamespacesCostOneRequest) {
  inspection::FakeRegistry registry(io_.get_executor(), {});
  registry.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  auto inspector = inspection::NewImageInspector(io_.get_executor(), clock_);
  ASSERT_THAT(inspector->SetConfig(
                  {.registries_conf = inspection::InsecureRegistriesConf(registry.host())}),
              IsOk());
  InspectionQueue queue(*inspector, clock_, tasks_, inspection_metrics_);
  int woken = 0;
  queue.OnResult([&](const ObjectKey&) { ++woken; });
  auto request = [&](int pod) {
    return inspection::ImageRequest{
        .image = registry.host() + "/app:1",
        .keyring = inspection::NewKeyring("other.io", "u" + std::to_string(pod), "p")};
  };
  for (int pod = 0; pod < 20; ++pod)
    EXPECT_FALSE(queue.Submit({"ns" + std::to_string(pod), "web"}, request(pod)));
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return woken == 20; }));
  for (int pod = 0; pod < 20; ++pod) {
    auto result = queue.Submit({"ns" + std::to_string(pod), "web"}, request(pod));
    ASSERT_TRUE(result);
    EXPECT_THAT(*result, IsOk());
  }
  EXPECT_EQ(registry.Count("GET /v2/app/manifests/1"), 1);
}

TEST_F(InspectionQueueTest, RequestsWithOtherCredentialsAreInspectedSeparately) {
  EXPECT_FALSE(Submit("a", "r.io/a"));
  auto shared = inspection::NewKeyring("r.io", "u", "p");
  EXPECT_FALSE(queue_.Submit({"ns", "b"}, {.image = "r.io/a", .keyring = shared}));
  kube::Drain(io_);
  EXPECT_EQ(images_.requests().size(), 2u);
}

TEST_F(InspectionQueueTest, ASlowRegistryDelaysNoOther) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(Submit("slow" + std::to_string(i), "slow.io/" + std::to_string(i)));
  EXPECT_EQ(queue_.in_flight(), 2u);
  EXPECT_EQ(queue_.queued(), 8u);
  EXPECT_FALSE(Submit("fast", "fast.io/a"));
  SetResult("fast.io/a", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, ElementsAre("fast"));
}

// One namespace may have half of the total: as many as remain for the others.
TEST_F(InspectionQueueTest, RegistriesTakeTurns) {
  for (const char* image : {"a.io/1", "a.io/2", "a.io/3", "b.io/1", "b.io/2", "b.io/3", "c.io/1"}) {
    EXPECT_FALSE(Submit(image, image));
  }
  EXPECT_THAT(images_.inspected(), ElementsAre("a.io/1", "a.io/2", "b.io/1", "b.io/2"));
  SetResult("a.io/1", ArchitectureSet{"amd64"});
  EXPECT_EQ(images_.requests().back().image, "a.io/3");
  SetResult("a.io/2", ArchitectureSet{"amd64"});
  EXPECT_EQ(images_.requests().back().image, "c.io/1");
}

// However many namespaces have only images whose inspection never ends.
TEST_F(InspectionQueueTest, ANewNamespaceStartsAtOnce) {
  InspectionQueue queue(images_, clock_, tasks_, inspection_metrics_);
  for (int ns = 0; ns < 8; ++ns) {
    std::string name = "slow" + std::to_string(ns);
    for (int i = 0; i < 100; ++i) {
      EXPECT_FALSE(
          queue.Submit({name, "pod"}, {.image = name + "-" + std::to_string(i) + ".io/app"}));
    }
    kube::Drain(io_);
    size_t before = queue.in_flight();
    EXPECT_LT(before, 128u);
    std::string fast = "fast" + std::to_string(ns) + ".io/app";
    EXPECT_FALSE(queue.Submit({"fast", "pod"}, {.image = fast}));
    kube::Drain(io_);
    EXPECT_EQ(images_.requests().back().image, fast)
        << "with " << before << " inspections of others in flight";
    SetResult(fast, ArchitectureSet{"amd64"});
    EXPECT_TRUE(queue.Submit({"fast", "pod"}, {.image = fast}));
    queue.Forget({"fast", "pod"});
  }
  for (int i = 0; i < 8; ++i) queue.Forget({"slow" + std::to_string(i), "pod"});
  EXPECT_EQ(queue.queued(), 0u);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
}

// More of them than share the total: whose inspection ends first gives its place to a new
// namespace.
TEST_F(InspectionQueueTest, WithManySlowNamespacesANewOneIsTheNext) {
  InspectionQueue queue(images_, clock_, tasks_, inspection_metrics_);
  for (int ns = 0; ns < 12; ++ns) {
    std::string name = "slow" + std::to_string(ns);
    for (int i = 0; i < 100; ++i) {
      EXPECT_FALSE(
          queue.Submit({name, "pod"}, {.image = name + "-" + std::to_string(i) + ".io/app"}));
    }
  }
  kube::Drain(io_);
  ASSERT_EQ(queue.in_flight(), 128u);
  for (int ns = 0; ns < 12; ++ns) {
    std::string fast = "fast" + std::to_string(ns);
    EXPECT_FALSE(queue.Submit({fast, "pod"}, {.image = fast + ".io/app"}));
  }
  kube::Drain(io_);
  std::vector<std::string> next;
  for (int i = 0; i < 16; ++i) {
    SetResult("slow0-" + std::to_string(i) + ".io/app", Error::DeadlineExceeded("no answer"));
    next.push_back(images_.requests().back().image);
  }
  for (int ns = 0; ns < 12; ++ns)
    EXPECT_THAT(next, ::testing::Contains("fast" + std::to_string(ns) + ".io/app"));
  for (int ns = 0; ns < 12; ++ns) {
    queue.Forget({"slow" + std::to_string(ns), "pod"});
    queue.Forget({"fast" + std::to_string(ns), "pod"});
  }
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
}

// The first namespaces use the total: what becomes free goes to namespaces without any in flight.
TEST_F(InspectionQueueTest, NamespacesTakeTurns) {
  for (int ns = 0; ns < 4; ++ns) {
    std::string name = "slow" + std::to_string(ns);
    for (int i = 0; i < 9; ++i)
      EXPECT_FALSE(Submit(name, "pod", name + "." + std::to_string(i) + ".io/app"));
  }
  ASSERT_EQ(queue_.in_flight(), 8u);
  for (const char* ns : {"b", "c"}) {
    for (int i = 0; i < 3; ++i)
      EXPECT_FALSE(Submit(ns, "pod", std::string(ns) + ".io/" + std::to_string(i)));
  }
  size_t inspected = images_.requests().size();
  for (size_t i = 0; i < 3; ++i) SetResult(images_.requests()[i].image, ArchitectureSet{"amd64"});
  std::vector<std::string> next = images_.inspected();
  next.erase(next.begin(), next.begin() + static_cast<ptrdiff_t>(inspected));
  EXPECT_THAT(next, ::testing::IsSupersetOf({"b.io/0", "c.io/0"}));
}

TEST_F(InspectionQueueTest, NoNamespaceHasMoreThanItsMaximum) {
  InspectionQueue queue(images_, clock_, tasks_, inspection_metrics_,
                        {.per_namespace = 2, .total = 100});
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(
        queue.Submit({"ns", std::to_string(i)}, {.image = "r" + std::to_string(i) + ".io/app"}));
  }
  EXPECT_EQ(queue.in_flight(), 2u);
  for (int i = 0; i < 10; ++i)
    SetResult("r" + std::to_string(i) + ".io/app", ArchitectureSet{"amd64"});
  EXPECT_EQ(queue.in_flight() + queue.queued(), 0u);
}

// A shared image is inspected with the first turn of any of its namespaces, and only of those that
// still wait.
TEST_F(InspectionQueueTest, ASharedImageIsQueuedInAllItsNamespaces) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(Submit("slow", "pod", "registry" + std::to_string(i) + ".slow.io/app"));
  EXPECT_FALSE(Submit("slow", "pod", "shared.io/app"));
  EXPECT_FALSE(Submit("fast", "pod", "shared.io/app"));
  EXPECT_EQ(images_.requests().back().image, "shared.io/app");
  SetResult("shared.io/app", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, ElementsAre("pod", "pod"));

  EXPECT_FALSE(Submit("slow", "one", "registry10.slow.io/app"));
  EXPECT_FALSE(Submit("slow", "two", "registry10.slow.io/app"));
  size_t queued = queue_.queued();
  queue_.Forget({"slow", "one"});
  EXPECT_EQ(queue_.queued(), queued);
  queue_.Forget({"slow", "two"});
  EXPECT_EQ(queue_.queued(), queued - 1);
  queue_.Forget({"slow", "pod"});
  EXPECT_EQ(queue_.queued(), 0u);
}

TEST_F(InspectionQueueTest, AForgottenRequestIsNotInspected) {
  for (const char* image : {"r.io/1", "r.io/2", "r.io/3", "r.io/4"})
    EXPECT_FALSE(Submit(image, image));
  queue_.Forget({"ns", "r.io/3"});
  SetResult("r.io/1", ArchitectureSet{"amd64"});
  EXPECT_THAT(images_.inspected(), ElementsAre("r.io/1", "r.io/2", "r.io/4"));
}

// Pods of one account share an inspection, and a token is bound to one of them.
TEST_F(InspectionQueueTest, AnInspectionIsForAPodThatStillWaits) {
  auto submit = [this](const std::string& pod, const std::string& uid) {
    auto identity = std::make_shared<const inspection::PodIdentity>(
        inspection::PodIdentity{.ns = "ns", .pod = pod, .uid = uid, .account = "web"});
    auto result = queue_.Submit({"ns", pod}, {.image = "r.io/app", .pod = std::move(identity)});
    kube::Drain(io_);
    return result;
  };
  for (const char* image : {"r.io/1", "r.io/2"}) EXPECT_FALSE(Submit(image, image));
  for (const char* pod : {"a", "b", "c"}) EXPECT_FALSE(submit(pod, "1"));
  queue_.Forget({"ns", "a"});
  EXPECT_FALSE(submit("b", "2"));  // created again
  SetResult("r.io/1", ArchitectureSet{"amd64"});
  ASSERT_EQ(images_.requests().back().image, "r.io/app");
  EXPECT_EQ(images_.requests().back().pod->pod, "b");
  EXPECT_EQ(images_.requests().back().pod->uid, "2");

  // The inspector knows that it is gone before the queue does: the next one is for another pod.
  woken_.clear();
  SetResult("r.io/app", kGone);
  EXPECT_THAT(woken_, ElementsAre("b", "c"));
  size_t before = images_.requests().size();
  EXPECT_FALSE(submit("c", "1"));
  ASSERT_EQ(images_.requests().size(), before + 1);
  EXPECT_EQ(images_.requests().back().pod->pod, "c");
  // No pod is left that it could be for.
  EXPECT_THAT(*submit("c", "1"), FailsWith(Code::kUnavailable));
  queue_.Forget({"ns", "b"});
  queue_.Forget({"ns", "c"});
  EXPECT_EQ(queue_.in_flight() + queue_.queued(), 1u) << "r.io/2";
}

// Otherwise pods that are created and deleted all the time could keep it from the others.
TEST_F(InspectionQueueTest, AnInspectionForPodsThatAreGoneIsRepeatedAFewTimes) {
  auto submit = [this](int pod) {
    std::string name = "pod" + std::to_string(pod);
    auto identity = std::make_shared<const inspection::PodIdentity>(
        inspection::PodIdentity{.ns = "ns", .pod = name, .uid = name, .account = "web"});
    auto result = queue_.Submit({"ns", name}, {.image = "r.io/app", .pod = std::move(identity)});
    kube::Drain(io_);
    return result;
  };
  for (int pod = 0; pod < 9; ++pod) EXPECT_FALSE(submit(pod));
  SetResult("r.io/app", kGone);
  int submitted = 0;
  std::optional<InspectionQueue::Result> result;
  for (; !result && submitted < 20; ++submitted) result = submit(8);
  ASSERT_TRUE(result);
  EXPECT_THAT(*result, FailsWith(Code::kUnavailable));
  ASSERT_EQ(images_.requests().size(), InspectionQueue::kMaxRepeats + 1);
  for (size_t i = 0; i < images_.requests().size(); ++i)
    EXPECT_EQ(images_.requests()[i].pod->pod, "pod" + std::to_string(i)) << "each time another one";
}

// What the registry answers is an answer, also if the pod is deleted meanwhile.
TEST_F(InspectionQueueTest, AnOutageServesTheOthersOfADeletedPod) {
  auto identity = std::make_shared<const inspection::PodIdentity>(
      inspection::PodIdentity{.ns = "ns", .pod = "a", .uid = "1", .account = "web"});
  EXPECT_FALSE(queue_.Submit({"ns", "a"}, {.image = "r.io/app", .pod = identity}));
  kube::Drain(io_);
  EXPECT_FALSE(Submit("b", "r.io/app"));
  queue_.Forget({"ns", "a"});
  SetResult("r.io/app", Error::Unavailable("503"));
  EXPECT_THAT(*Submit("b", "r.io/app"), FailsWith(Code::kUnavailable));
  EXPECT_EQ(images_.requests().size(), 1u);
}

// It may have been shared by pods that may not share one any more.
TEST_F(InspectionQueueTest, AJobOfAnEarlierConfigurationIsSubmittedAgain) {
  for (const char* image : {"r.io/1", "r.io/2", "r.io/app"}) EXPECT_FALSE(Submit(image, image));
  EXPECT_FALSE(Submit("other", "web", "r.io/app"));
  images_.ChangeKeys();
  SetResult("r.io/1", ArchitectureSet{"amd64"});
  EXPECT_THAT(images_.inspected(), ElementsAre("r.io/1", "r.io/2")) << "it is not started";
  EXPECT_THAT(woken_, ElementsAre("r.io/1", "r.io/app", "web"));
  EXPECT_FALSE(Submit("r.io/app", "r.io/app"));
  EXPECT_FALSE(Submit("other", "web", "r.io/app"));
  EXPECT_THAT(images_.inspected(), ElementsAre("r.io/1", "r.io/2", "r.io/app"));
  SetResult("r.io/app", ArchitectureSet{"arm64"});
  EXPECT_THAT(*Submit("other", "web", "r.io/app"), IsOk());
  queue_.Forget({"ns", "r.io/app"});
  queue_.Forget({"other", "web"});
  EXPECT_EQ(queue_.in_flight() + queue_.queued(), 1u) << "r.io/2";
}

// An answer about the image is one, whatever became of the pod.
TEST_F(InspectionQueueTest, AResultForADeletedPodServesTheOthers) {
  auto identity = std::make_shared<const inspection::PodIdentity>(
      inspection::PodIdentity{.ns = "ns", .pod = "a", .uid = "1", .account = "web"});
  EXPECT_FALSE(queue_.Submit({"ns", "a"}, {.image = "r.io/app", .pod = identity}));
  kube::Drain(io_);
  EXPECT_FALSE(Submit("b", "r.io/app"));
  queue_.Forget({"ns", "a"});
  SetResult("r.io/app", Error::NotFound("404"));
  EXPECT_THAT(*Submit("b", "r.io/app"), FailsWith(Code::kNotFound));
  EXPECT_EQ(images_.requests().size(), 1u);
}

// Inspections of images that are cached by then end before Spawn() returns.
TEST_F(InspectionQueueTest, ImmediateResultsDoNotRecurse) {
  constexpr int kMany = 50'000;
  EXPECT_FALSE(Submit("first", "r.io/first"));
  EXPECT_FALSE(Submit("last", "r.io/last"));
  for (int i = 0; i < kMany; ++i) {
    std::string name = std::to_string(i);
    images_.SetResult("r.io/" + name, ArchitectureSet{"amd64"});
    EXPECT_FALSE(queue_.Submit({"ns", name}, {.image = "r.io/" + name}));
  }
  EXPECT_EQ(queue_.queued(), static_cast<size_t>(kMany));
  SetResult("r.io/first", ArchitectureSet{"amd64"});
  EXPECT_EQ(woken_.size(), static_cast<size_t>(kMany + 1));
  EXPECT_EQ(queue_.queued(), 0u);
}

TEST_F(InspectionQueueTest, ANamespaceMayEndWithAnImmediateResult) {
  for (const char* image : {"a.io/1", "a.io/2", "c.io/1", "c.io/2"})
    EXPECT_FALSE(Submit(image, image));
  ASSERT_EQ(queue_.in_flight(), 4u);
  images_.SetResult("b.io/1", ArchitectureSet{"amd64"});
  EXPECT_FALSE(Submit("b", "b.io/1"));
  SetResult("a.io/1", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, ElementsAre("a.io/1", "b"));
  EXPECT_EQ(queue_.in_flight(), 3u);
}

TEST_F(InspectionQueueTest, APrefetchWakesNoPodAndLeavesNoJob) {
  queue_.Prefetch("ns", {.image = "r.io/a"});
  kube::Drain(io_);
  EXPECT_THAT(images_.inspected(), ElementsAre("r.io/a"));
  SetResult("r.io/a", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, IsEmpty());
  EXPECT_EQ(queue_.in_flight() + queue_.queued(), 0u);
}

}  // namespace
}  // namespace cluster_controller
