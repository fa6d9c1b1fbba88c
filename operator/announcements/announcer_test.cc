// SPDX-License-Identifier: Apache-2.0
#include "operator/announcements/announcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using kube::coordination::Lease;
using testing::SizeIs;
using watches::Announcement;
using namespace std::chrono_literals;

constexpr char kPath[] = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";

class AnnouncerTest : public testing::Test {
 protected:
  ~AnnouncerTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  static api::PodPlacementConfig Config(const std::string& name, int64_t generation = 1,
                                        const std::string& ns = "shop") {
    return api::MakeConfig(name, ns).Uid("uid-" + name).Generation(generation);
  }
  Result<> Announce(const api::PodPlacementConfig& config) {
    return kube::Run(io_, announcer_.Announce(config, clock_.Now() + 1h));
  }
  // Announces all at once. Returns: how many announcements failed.
  int AnnounceTogether(const std::vector<api::PodPlacementConfig>& configs) {
    size_t done = 0;
    int failed = 0;
    for (const api::PodPlacementConfig& config : configs) {
      boost::asio::co_spawn(io_, announcer_.Announce(config, clock_.Now() + 1h),
                            [&](std::exception_ptr, Result<> announced) {
                              ++done;
                              failed += announced ? 0 : 1;
                            });
    }
    EXPECT_TRUE(kube::RunUntil(io_, [&] { return done == configs.size(); }));
    return failed;
  }
  // Announces `config` as another replica, once, before the next patch of this one.
  void AnnounceMeanwhile(const api::PodPlacementConfig& config) {
    api_.BeforeEach([this, config, announced = false](const std::string& call) mutable {
      if (!call.starts_with("PATCH") || std::exchange(announced, true)) return;
      Lease lease = api_.List<Lease>()[0];
      Announcement announcement{.uid = config.metadata().uid(),
                                .name = config.metadata().name(),
                                .generation = config.metadata().generation()};
      auto now =
          std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch());
      for (auto& [key, value] : watches::Announcing({announcement}, lease.metadata(), now))
        (*lease.mutable_metadata()->mutable_annotations())[key] = value.value();
      api_.Update(lease);
    });
  }
  std::vector<Announcement> Announced(const std::string& ns = "shop") {
    std::optional<Lease> lease = api_.Get<Lease>({ns, std::string(api::kAnnouncementsName)});
    return lease ? watches::AnnouncementsOn(lease->metadata()) : std::vector<Announcement>();
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::Metrics metrics_;
  kube::Counter& failures_ = metrics_.AddCounter("failures", "");
  kube::TaskGroup tasks_{io_.get_executor()};
  static kube::meta::OwnerReference Owner() {
    kube::meta::OwnerReference owner;
    owner.set_uid("uid-of-the-operators-namespace");
    return owner;
  }
  Announcer announcer_{api_, clock_, tasks_, {.owner = Owner(), .ahead = 0ms}, failures_};
};

TEST_F(AnnouncerTest, WritesALeaseWithoutAHolder) {
  EXPECT_THAT(Announce(Config("a", 3)), IsOk());
  ASSERT_THAT(Announced(), SizeIs(1));
  EXPECT_EQ(Announced()[0].uid, "uid-a");
  EXPECT_EQ(Announced()[0].name, "a");
  EXPECT_EQ(Announced()[0].generation, 3);
  std::vector<Lease> leases = api_.List<Lease>();
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_FALSE(leases[0].has_spec());
  ASSERT_EQ(leases[0].metadata().owner_references_size(), 1);
  EXPECT_EQ(leases[0].metadata().owner_references(0).uid(), "uid-of-the-operators-namespace");
}

TEST_F(AnnouncerTest, AnnouncementsOfOtherReplicasStay) {
  EXPECT_THAT(Announce(Config("a")), IsOk());
  EXPECT_THAT(Announce(Config("b")), IsOk());
  EXPECT_THAT(Announce(Config("a", 2)), IsOk());
  ASSERT_THAT(Announced(), SizeIs(2));
  EXPECT_EQ(Announced()[0].generation, 2);
  EXPECT_EQ(api_.CountCalls("PUT"), 0) << "a write that another one's makes conflict";
}

TEST_F(AnnouncerTest, TheFirstAnnouncementOfANamespaceIsOneWrite) {
  EXPECT_THAT(Announce(Config("a")), IsOk());
  EXPECT_THAT(api_.calls(), SizeIs(1));
  // This process knows the Lease now.
  EXPECT_THAT(Announce(Config("b")), IsOk());
  EXPECT_THAT(api_.calls(), SizeIs(3)) << "a read and a patch";
  // Its announcements were withdrawn.
  api_.Delete<Lease>({"shop", std::string(api::kAnnouncementsName)});
  EXPECT_THAT(Announce(Config("c")), IsOk());
  EXPECT_THAT(api_.calls(), SizeIs(5));
  // They have expired: it was removed, or another replica has written it since.
  clock_.Advance(watches::kAnnouncementKept);
  EXPECT_THAT(Announce(Config("d")), IsOk());
  kube::Drain(io_);
  EXPECT_EQ(api_.CountCalls("POST"), 3);
  EXPECT_THAT(Announced(), SizeIs(2));
}

// A controller that has just read the announcements does not read them for the next pods.
TEST_F(AnnouncerTest, AConfigIsStoredOnlySomeTimeAfterItsAnnouncement) {
  static_assert(watches::kAnnouncedAhead > watches::kAnnouncementsReused);
  Announcer announcer(api_, clock_, tasks_, {.owner = Owner()}, failures_);
  const api::PodPlacementConfig config = Config("a");
  std::optional<Result<>> announced;
  boost::asio::co_spawn(
      io_, announcer.Announce(config, clock_.Now() + 1h),
      [&](std::exception_ptr, Result<> result) { announced.emplace(std::move(result)); });
  kube::Drain(io_);
  EXPECT_THAT(Announced(), SizeIs(1));
  clock_.Advance(watches::kAnnouncedAhead - 1ms);
  kube::Drain(io_);
  EXPECT_FALSE(announced.has_value());
  clock_.Advance(1ms);
  kube::Drain(io_);
  ASSERT_TRUE(announced.has_value());
  EXPECT_THAT(*announced, IsOk());
}

// A release that sets up many namespaces does this. One Lease for all would make these writes
// conflict.
TEST_F(AnnouncerTest, ManyAtOnceShareTheWritesOfTheirNamespace) {
  std::vector<api::PodPlacementConfig> configs;
  for (int i = 0; i < 200; ++i)
    configs.push_back(Config("c" + std::to_string(i), 1, "ns" + std::to_string(i % 50)));
  EXPECT_EQ(AnnounceTogether(configs), 0);
  for (int i = 0; i < 50; ++i) EXPECT_THAT(Announced("ns" + std::to_string(i)), SizeIs(4)) << i;
  EXPECT_LE(api_.CountCalls("POST") + api_.CountCalls("PATCH"), 50 * 3)
      << "one that finds no Lease, and two writes";
}

TEST_F(AnnouncerTest, AnAnnouncementDuringAWriteGoesIntoTheNextOne) {
  const api::PodPlacementConfig late = Config("late");
  bool asked = false;
  api_.BeforeEach([&](const std::string& call) {
    if (asked || !call.starts_with("POST")) return;
    asked = true;
    boost::asio::co_spawn(
        io_, announcer_.Announce(late, clock_.Now() + 1h),
        [](std::exception_ptr, Result<> announced) { EXPECT_THAT(announced, IsOk()); });
    io_.poll();
  });
  EXPECT_THAT(Announce(Config("early")), IsOk());
  kube::Drain(io_);
  EXPECT_THAT(Announced(), SizeIs(2));
}

TEST_F(AnnouncerTest, AnotherReplicaMayBeFaster) {
  bool created = false;
  api_.BeforeEach([&](const std::string& call) {
    if (created || !call.starts_with("POST")) return;
    created = true;
    Lease lease;
    lease.mutable_metadata()->set_namespace_("shop");
    lease.mutable_metadata()->set_name(std::string(api::kAnnouncementsName));
    api_.Create(lease);
  });
  EXPECT_THAT(Announce(Config("a")), IsOk());
  EXPECT_THAT(Announced(), SizeIs(1));
}

TEST_F(AnnouncerTest, ConflictsAreRetriedAndBounded) {
  EXPECT_THAT(Announce(Config("first")), IsOk());
  api_.FailNext(kube::Error::Conflict("others write"), "PATCH", 3);
  EXPECT_THAT(Announce(Config("a")), IsOk());
  api_.FailNext(kube::Error::Conflict("others write"), "PATCH", 100);
  EXPECT_THAT(Announce(Config("b")), FailsWith(Code::kConflict));
  EXPECT_LE(api_.CountCalls("PATCH"), 4 + 10);
}

TEST_F(AnnouncerTest, AFailureIsCountedAndDoesNotLast) {
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "exceeded quota: leases"), "POST");
  EXPECT_THAT(Announce(Config("a")), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(failures_.Value(), 1);
  EXPECT_THAT(Announce(Config("b")), IsOk());
  EXPECT_EQ(failures_.Value(), 1);
}

TEST_F(AnnouncerTest, AfterItsDeadlineACallerDoesNotWait) {
  api_.Stop();
  EXPECT_THAT(kube::Run(io_, announcer_.Announce(Config("a"), clock_.Now())), IsOk());
}

// A tenant that fills the Lease up to the API server's limit loses the announcements of its
// namespace, and no write.
TEST_F(AnnouncerTest, ALeaseThatIsFullIsReplaced) {
  Lease full;
  full.mutable_metadata()->set_namespace_("shop");
  full.mutable_metadata()->set_name(std::string(api::kAnnouncementsName));
  (*full.mutable_metadata()->mutable_annotations())["junk"] = "much";
  api_.Create(full);
  api_.FailNext(kube::Error::FromHttpStatus(422, "Invalid", "metadata.annotations: Too long"),
                "PATCH");
  EXPECT_THAT(Announce(Config("a")), IsOk());
  EXPECT_THAT(Announced(), SizeIs(1));
  EXPECT_FALSE(api_.List<Lease>()[0].metadata().annotations().contains("junk"));
}

TEST_F(AnnouncerTest, AboveTheLimitTheOldestAreRemoved) {
  EXPECT_THAT(Announce(Config("first")), IsOk());
  std::vector<api::PodPlacementConfig> configs;
  for (int i = 0; i < 700; ++i) configs.push_back(Config("c" + std::to_string(i)));
  EXPECT_EQ(AnnounceTogether(configs), 0);
  EXPECT_THAT(Announce(Config("last")), IsOk());
  std::vector<Announcement> announced = Announced();
  EXPECT_EQ(api_.List<Lease>()[0].metadata().annotations().size(), watches::kMaxAnnouncements);
  auto is_announced = [&](const std::string& name) {
    return std::any_of(announced.begin(), announced.end(),
                       [&](const Announcement& one) { return one.name == name; });
  };
  EXPECT_FALSE(is_announced("first"));
  EXPECT_TRUE(is_announced("last"));
}

// In between, another replica announces what this one is about to remove.
TEST_F(AnnouncerTest, AnAnnouncementThatIsRenewedMeanwhileIsNotRemoved) {
  EXPECT_THAT(Announce(Config("a")), IsOk());
  std::vector<api::PodPlacementConfig> configs;
  for (size_t i = 1; i < watches::kMaxAnnouncements; ++i)
    configs.push_back(Config("c" + std::to_string(i)));
  EXPECT_EQ(AnnounceTogether(configs), 0);
  AnnounceMeanwhile(Config("a", 2));
  EXPECT_THAT(Announce(Config("b")), IsOk());
  std::vector<Announcement> announced = Announced();
  EXPECT_THAT(announced, SizeIs(watches::kMaxAnnouncements));
  EXPECT_EQ(announced[0].name, "a");
  EXPECT_EQ(announced[0].generation, 2);
}

// This write was reviewed as generation 5, before others were stored: it will conflict.
TEST_F(AnnouncerTest, AnAnnouncedGenerationDoesNotDecrease) {
  EXPECT_THAT(Announce(Config("a", 6)), IsOk());
  EXPECT_THAT(Announce(Config("a", 5)), IsOk());
  ASSERT_THAT(Announced(), SizeIs(1));
  EXPECT_EQ(Announced()[0].generation, 6);
  AnnounceMeanwhile(Config("a", 8));
  EXPECT_THAT(Announce(Config("a", 7)), IsOk());
  ASSERT_THAT(Announced(), SizeIs(1));
  EXPECT_EQ(Announced()[0].generation, 8);
}

TEST_F(AnnouncerTest, AConfigWithoutAUidIsAnError) {
  api::PodPlacementConfig config = Config("a");
  config.mutable_metadata()->clear_uid();
  EXPECT_THAT(Announce(config), FailsWith(Code::kInvalid));
  EXPECT_EQ(api_.CountCalls(kPath), 0);
}

}  // namespace
}  // namespace operator_
