// SPDX-License-Identifier: Apache-2.0
#include "watches/fresh_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "kube/types/coordination.pb.h"
#include "watches/announcements.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::coordination::Lease;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using namespace std::chrono_literals;

const kube::ObjectKey kLease{"ns", std::string(api::kAnnouncementsName)};

class FreshConfigsTest : public testing::Test {
 protected:
  FreshConfigsTest() {
    tasks_.Spawn("configs", configs_.Run());
    kube::Drain(io_);
  }
  ~FreshConfigsTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  PodPlacementConfig Create(const std::string& name) {
    return api_.Create<PodPlacementConfig>(api::MakeConfig(name));
  }
  // As the operator does before it lets a config be stored.
  void Announce(const std::string& name, const std::string& uid, int64_t generation,
                const std::string& ns = "ns") {
    WriteAnnouncement(name, uid, generation, ns);
    clock_.Advance(kAnnouncedAhead);
  }
  // Creates the next generation of `config`.
  void Change(const PodPlacementConfig& config) {
    kube::Json patch = {{"spec", {{"priority", config.metadata().generation()}}}};
    api_.PatchJson(kube::ResourceOf<PodPlacementConfig>::value, kube::KeyOf(config), patch);
  }
  void WriteAnnouncement(const std::string& name, const std::string& uid, int64_t generation,
                         const std::string& ns = "ns") {
    Lease lease;
    lease.mutable_metadata()->set_namespace_(ns);
    lease.mutable_metadata()->set_name(kLease.name);
    std::optional<Lease> current = api_.Get<Lease>({ns, kLease.name});
    if (current) lease = *current;
    auto now =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch());
    (*lease.mutable_metadata()->mutable_annotations())[AnnotationKey(uid)] =
        AnnotationValue({.uid = uid, .name = name, .generation = generation, .since_epoch = now});
    current ? api_.Update(lease) : api_.Create(lease);
  }
  // From now on, the watch has no events.
  void BreakWatch() {
    api_.FailNext(kube::Error::Unavailable("503"), "WATCH", 1000);
    api_.CloseWatches();
    kube::Drain(io_);
  }
  std::vector<std::string> Read(std::vector<std::string> names = {}) {
    auto known = kube::Run(io_, configs_.Read("ns", std::move(names)));
    EXPECT_THAT(known, IsOk());
    std::vector<std::string> found;
    if (known) {
      for (const PodPlacementConfig& config : **known) found.push_back(config.metadata().name());
    }
    return found;
  }
  int Lists() { return api_.CountCalls("GET /apis/multiarch"); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  FreshConfigs configs_{api_, clock_, ""};
};

TEST_F(FreshConfigsTest, WithoutAnnouncementsTheWatchIsEnough) {
  Create("a");
  EXPECT_THAT(Read(), ElementsAre("a"));
  api_.Delete<PodPlacementConfig>({"ns", "a"});
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(Lists(), 0);
}

TEST_F(FreshConfigsTest, OneReadOfTheAnnouncementsServesThePodsOfAMoment) {
  for (int i = 0; i < 200; ++i) {
    Read();
    clock_.Advance(1ms);
  }
  EXPECT_EQ(api_.CountCalls("GET"), 1);
  Read();
  EXPECT_EQ(api_.CountCalls("GET"), 2);
}

// Whenever the last read was: a config is stored so long after its announcement that the next pod
// needs another read.
TEST_F(FreshConfigsTest, AReadJustBeforeAnAnnouncementIsTooOldForTheConfigsPods) {
  BreakWatch();
  for (auto before : {0ms, 1ms, 199ms, 200ms}) {
    clock_.Advance(1h);
    Read();
    clock_.Advance(before);
    std::string name = "config-" + std::to_string(before.count());
    WriteAnnouncement(name, "uid-of-" + name, 1);
    EXPECT_THAT(Read(), Not(Contains(name)));
    clock_.Advance(kAnnouncedAhead);
    Create(name);
    EXPECT_THAT(Read(), Contains(name)) << "read " << before.count() << " ms before";
  }
}

TEST_F(FreshConfigsTest, AReadCountsFromItsBegin) {
  bool passed = false;
  api_.BeforeEach([&](const std::string& call) {
    if (std::exchange(passed, true) || !call.starts_with("GET")) return;
    clock_.Advance(kAnnouncementsReused);
  });
  Read();
  Read();
  EXPECT_EQ(api_.CountCalls("GET"), 2);
}

TEST_F(FreshConfigsTest, AFailedReadIsNotReused) {
  api_.FailNext(kube::Error::Unavailable("503"), "leases");
  EXPECT_THAT(kube::Run(io_, configs_.Read("ns", {})), FailsWith(Code::kUnavailable));
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(api_.CountCalls("leases"), 2);
}

TEST_F(FreshConfigsTest, AnAnnouncedConfigThatTheWatchDoesNotHaveIsRead) {
  BreakWatch();
  PodPlacementConfig config = Create("new");
  Announce("new", config.metadata().uid(), 1);
  EXPECT_THAT(Read(), ElementsAre("new"));
  EXPECT_EQ(Lists(), 1);
}

TEST_F(FreshConfigsTest, AnAnnouncedConfigThatTheWatchHasCostsNoList) {
  PodPlacementConfig config = Create("new");
  Announce("new", config.metadata().uid(), config.metadata().generation());
  EXPECT_THAT(Read(), ElementsAre("new"));
  EXPECT_EQ(Lists(), 0);
}

TEST_F(FreshConfigsTest, AChangeThatTheWatchDoesNotHaveIsRead) {
  PodPlacementConfig config = Create("changed");
  EXPECT_THAT(Read(), ElementsAre("changed"));
  BreakWatch();
  Announce("changed", config.metadata().uid(), config.metadata().generation() + 1);
  Read();
  EXPECT_EQ(Lists(), 1);
}

TEST_F(FreshConfigsTest, AnotherConfigOfTheSameNameDoesNotCount) {
  Create("again");
  EXPECT_THAT(Read(), ElementsAre("again"));
  BreakWatch();
  Announce("again", "another-uid", 1);
  Read();
  EXPECT_EQ(Lists(), 1);
}

TEST_F(FreshConfigsTest, AnAnnouncedWriteThatFailedExpires) {
  Announce("refused", "uid", 1);
  EXPECT_THAT(Read(), IsEmpty());
  clock_.Advance(59s);
  Read();
  EXPECT_EQ(Lists(), 2);
  clock_.Advance(1s);
  Read();
  EXPECT_EQ(Lists(), 3) << "the first list that began when the write had ended";
  clock_.Advance(1s);
  Read();
  EXPECT_EQ(Lists(), 3);
}

// For longer than an announced write can take: until the watch goes on, each read is a list.
TEST_F(FreshConfigsTest, WhatASilentWatchDoesNotHaveIsListed) {
  BreakWatch();
  PodPlacementConfig config = Create("new");
  Announce("new", config.metadata().uid(), 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Read(), ElementsAre("new")) << i;
    clock_.Advance(30s);
  }
  EXPECT_EQ(Lists(), 10);
}

// The announcement of the refused write replaced that of the stored one.
TEST_F(FreshConfigsTest, ARefusedWriteDoesNotHideAStoredOne) {
  PodPlacementConfig config = Create("changed");
  kube::Drain(io_);
  BreakWatch();
  Announce("changed", config.metadata().uid(), 2);
  Change(config);
  Announce("changed", config.metadata().uid(), 3);
  Read();
  clock_.Advance(60s);
  Read();
  clock_.Advance(60s);
  Read();
  EXPECT_EQ(Lists(), 3);
}

TEST_F(FreshConfigsTest, ADeletedConfigIsNotListedForEver) {
  BreakWatch();
  PodPlacementConfig config = Create("new");
  Announce("new", config.metadata().uid(), 1);
  Read();
  clock_.Advance(60s);
  EXPECT_THAT(Read(), ElementsAre("new"));
  api_.Delete<PodPlacementConfig>({"ns", "new"});
  clock_.Advance(1s);
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(Lists(), 3);
  clock_.Advance(1s);
  Read();
  EXPECT_EQ(Lists(), 3);
}

// The first write was refused, and the user repeats it.
TEST_F(FreshConfigsTest, AnAnnouncementOfTheSameGenerationIsPendingAgain) {
  BreakWatch();
  Announce("again", "uid", 1);
  Read();
  clock_.Advance(60s);
  Read();
  clock_.Advance(1s);
  Read();
  EXPECT_EQ(Lists(), 2);
  Announce("again", "uid", 1);
  Read();
  EXPECT_EQ(Lists(), 3);
}

TEST_F(FreshConfigsTest, AConfigThatThePodNamesIsRead) {
  EXPECT_THAT(Read({"gone"}), IsEmpty());
  EXPECT_EQ(Lists(), 1);
  Create("here");
  EXPECT_THAT(Read({"here"}), ElementsAre("here"));
  EXPECT_EQ(Lists(), 1);
}

// A tenant that writes announcements without end causes lists only of its own namespace.
TEST_F(FreshConfigsTest, AnotherNamespacesAnnouncementsCostNothingHere) {
  Announce("new", "uid", 1, "elsewhere");
  Create("mine");
  EXPECT_THAT(Read(), ElementsAre("mine"));
  EXPECT_EQ(Lists(), 0);
  EXPECT_EQ(api_.CountCalls("GET /apis/coordination.k8s.io/v1/namespaces/ns/"), 1);
  EXPECT_EQ(api_.CountCalls("GET"), 1);
}

TEST_F(FreshConfigsTest, AReplacedAnnouncementExpiresLater) {
  Announce("refused", "uid", 1);
  Read();
  clock_.Advance(60s);
  Announce("refused", "uid", 2);
  Read();
  EXPECT_EQ(Lists(), 2);
}

TEST_F(FreshConfigsTest, ManyNamespacesCanBeRead) {
  BreakWatch();
  for (int i = 0; i < 600; ++i) {
    std::string ns = "ns-" + std::to_string(i);
    Announce("new", "uid-" + std::to_string(i), 1, ns);
    EXPECT_THAT(kube::Run(io_, configs_.Read(ns, {})), IsOk());
  }
  EXPECT_EQ(Lists(), 600);
}

// While other namespaces are listed.
TEST_F(FreshConfigsTest, WhatTheWatchHasInTheMeantimeIsNotListed) {
  kube::SlowClient slow(api_);
  slow.Hold("limit=");
  FreshConfigs configs(slow, clock_, "");
  kube::TaskGroup tasks(io_.get_executor());
  tasks.Spawn("configs", configs.Run());
  kube::Drain(io_);
  std::vector<std::string> found;
  auto read = [&](std::string ns) -> kube::asio::awaitable<void> {
    std::vector<std::string> names = {"new"};
    auto known = co_await configs.Read(ns, std::move(names));
    EXPECT_THAT(known, IsOk());
    if (!known) co_return;
    for (const PodPlacementConfig& config : **known)
      found.push_back(ns + "/" + config.metadata().name());
  };
  constexpr int kOthers = 16;  // as many as are listed at a time
  for (int i = 0; i < kOthers; ++i) tasks.Spawn("read", read("other-" + std::to_string(i)));
  tasks.Spawn("read", read("ns"));
  kube::Drain(io_);
  Create("new");
  kube::Drain(io_);
  EXPECT_THAT(found, IsEmpty());
  slow.Release();
  kube::Drain(io_);
  EXPECT_THAT(found, ElementsAre("ns/new"));
  EXPECT_EQ(Lists(), kOthers);
  EXPECT_THAT(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), IsOk());
}

TEST_F(FreshConfigsTest, FailedReadsAreErrors) {
  api_.FailNext(kube::Error::Unavailable("503"), "leases");
  EXPECT_THAT(kube::Run(io_, configs_.Read("ns", {})), FailsWith(Code::kUnavailable));
  api_.FailNext(kube::Error::Unavailable("503"), "GET /apis/multiarch");
  EXPECT_THAT(kube::Run(io_, configs_.Read("ns", {"new"})), FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace watches
