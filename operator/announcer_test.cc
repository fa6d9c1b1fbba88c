// SPDX-License-Identifier: Apache-2.0
#include "operator/announcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/names.h"
#include "configs/announcements.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/coordination.pb.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::coordination::Lease;

class AnnouncerTest : public testing::Test {
 protected:
  AnnouncerTest() {
    config_.mutable_metadata()->set_namespace_("shop");
    config_.mutable_metadata()->set_name("a");
    config_.mutable_metadata()->set_uid("uid-a");
    config_.mutable_metadata()->set_generation(3);
  }
  void CreateLease(const kube::ObjectKey& key) {
    Lease lease;
    lease.mutable_metadata()->set_namespace_(key.ns);
    lease.mutable_metadata()->set_name(key.name);
    lease.mutable_spec()->set_holder_identity("holder");
    api_.Create(lease);
  }
  std::map<std::string, configs::Announcement> AnnouncedOn(const kube::ObjectKey& key) {
    Lease lease = *api_.Get<Lease>(key);
    EXPECT_EQ(lease.spec().holder_identity(), "holder");
    const auto& annotations = lease.metadata().annotations();
    auto text = annotations.find(std::string(api::kAnnouncedConfigsAnnotation));
    if (text == annotations.end()) return {};
    return configs::Announcements::Parse(text->second).Of("shop");
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  Announcer announcer_{api_, clock_, "operator-ns"};
  api::PodPlacementConfig config_;
  const kube::ObjectKey controller_{"operator-ns", std::string(api::kControllerName)};
  const kube::ObjectKey shard_{"shop", std::string(api::kShardControllerName)};
};

TEST_F(AnnouncerTest, TellsTheControllerAndTheShard) {
  CreateLease(controller_);
  CreateLease(shard_);
  EXPECT_THAT(kube::Run(io_, announcer_.Announce(config_)), IsOk());
  for (const kube::ObjectKey& lease : {controller_, shard_}) {
    auto announced = AnnouncedOn(lease);
    ASSERT_EQ(announced.size(), 1u);
    EXPECT_EQ(announced.at("a").uid, "uid-a");
    EXPECT_EQ(announced.at("a").generation, 3);
  }
}

TEST_F(AnnouncerTest, WhoHasNoLeaseNeedNotBeTold) {
  CreateLease(controller_);
  EXPECT_THAT(kube::Run(io_, announcer_.Announce(config_)), IsOk());
  EXPECT_EQ(AnnouncedOn(controller_).size(), 1u);
  EXPECT_EQ(api_.List<Lease>().size(), 1u);
}

TEST_F(AnnouncerTest, ARenewalInBetweenIsTriedAgain) {
  CreateLease(shard_);
  api_.FailNext(kube::Error::Conflict("renewed"), "PUT", 3);
  EXPECT_THAT(kube::Run(io_, announcer_.Announce(config_)), IsOk());
  EXPECT_EQ(AnnouncedOn(shard_).size(), 1u);
}

TEST_F(AnnouncerTest, EndlessConflictsAndOutagesAreErrors) {
  CreateLease(shard_);
  api_.FailNext(kube::Error::Conflict("renewed"), "PUT", 100);
  EXPECT_THAT(kube::Run(io_, announcer_.Announce(config_)), FailsWith(Code::kConflict));
  EXPECT_EQ(api_.CountCalls("PUT"), 10);
  api_.FailNext(kube::Error::Unavailable("503"), "GET");
  EXPECT_THAT(kube::Run(io_, announcer_.Announce(config_)), FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace operator_
