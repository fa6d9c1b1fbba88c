// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/names.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace policy {
namespace {

using namespace std::chrono_literals;
using kube::Json;

const kube::ObjectKey kLease{"operator", "replica-1"};

class RegistrationTest : public testing::Test {
 protected:
  ~RegistrationTest() override { Stop(); }

  void Start() {
    tasks_.Spawn("registration", registration_.Run());
    kube::Drain(io_);
  }
  void Stop() { EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk()); }
  void Advance(kube::Duration step) {
    clock_.Advance(step);
    kube::Drain(io_);
  }
  // Advances by small steps, as time passes.
  void Pass(kube::Duration time) {
    for (kube::Duration step = 100ms; time > 0s; time -= step) Advance(step);
  }
  void See(uint64_t version) {
    seen_.policies = version;
    registration_.Acknowledge();
    kube::Drain(io_);
  }
  std::string SeenOnLease() {
    std::optional<Json> lease = api_.GetJson(kube::kLeases, kLease);
    if (!lease) return "no Lease";
    return (*lease)["metadata"]["annotations"][std::string(kSeenAnnotation)];
  }
  int Writes() { return api_.CountCalls("PATCH") + api_.CountCalls("POST"); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  SeenVersions seen_;
  int registered_ = 0;
  Registration registration_{api_,
                             clock_,
                             {.ns = kLease.ns,
                              .name = kLease.name,
                              .seen = [this] { return seen_; },
                              .registered = [this] { ++registered_; }}};
};

TEST_F(RegistrationTest, CreatesTheLease) {
  EXPECT_FALSE(registration_.in_force());
  Start();
  EXPECT_TRUE(registration_.in_force());
  EXPECT_EQ(registered_, 1);
  EXPECT_EQ(SeenOnLease(), "0");
  Json lease = *api_.GetJson(kube::kLeases, kLease);
  EXPECT_EQ(lease["metadata"]["labels"][std::string(api::kOperandLabel)], kReplicaOperand);
  EXPECT_FALSE(lease["metadata"].contains("ownerReferences"));
  EXPECT_EQ(lease["spec"]["holderIdentity"], "replica-1");
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"], 40);
  EXPECT_EQ(lease["spec"]["renewTime"], "2026-01-01T00:00:00.000000Z");
}

// A restarted container has the Lease of the one before.
TEST_F(RegistrationTest, TakesOverTheLeaseOfItsPod) {
  Json lease = {{"metadata", {{"name", kLease.name}, {"namespace", kLease.ns}}}};
  lease["metadata"]["annotations"] = {{std::string(kSeenAnnotation), "99"}};
  api_.CreateJson(kube::kLeases, lease);
  Start();
  EXPECT_EQ(registered_, 1);
  EXPECT_EQ(SeenOnLease(), "0") << "this process has listed nothing yet";
}

TEST_F(RegistrationTest, RenewsEveryTenSeconds) {
  Start();
  int writes = Writes();
  Pass(9900ms);
  EXPECT_EQ(Writes(), writes);
  Pass(100ms);
  EXPECT_EQ(Writes(), writes + 1);
  Pass(60s);
  EXPECT_EQ(Writes(), writes + 7);
  EXPECT_EQ(registered_, 1);
  EXPECT_EQ(api_.GetJson(kube::kLeases, kLease)->at("spec").at("renewTime"),
            "2026-01-01T00:01:10.000000Z");
}

TEST_F(RegistrationTest, AnAcknowledgementIsWrittenAtOnce) {
  Start();
  Pass(1s);
  See(17);
  EXPECT_EQ(SeenOnLease(), "17");
}

TEST_F(RegistrationTest, AcknowledgementsWithin100MsShareAWrite) {
  Start();
  Pass(1s);
  int writes = Writes();
  See(1);
  for (uint64_t version = 2; version <= 50; ++version) See(version);
  EXPECT_EQ(Writes(), writes + 1);
  EXPECT_EQ(SeenOnLease(), "1");
  Advance(99ms);
  EXPECT_EQ(SeenOnLease(), "1");
  Advance(1ms);
  EXPECT_EQ(SeenOnLease(), "50");
  EXPECT_EQ(Writes(), writes + 2);
  Pass(5s);
  EXPECT_EQ(Writes(), writes + 2);
}

TEST_F(RegistrationTest, WhatIsSeenDuringAWriteIsWrittenNext) {
  Start();
  Pass(1s);
  api_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("PATCH") || seen_.policies != 1) return;
    seen_.policies = 2;
    registration_.Acknowledge();
  });
  See(1);
  Pass(100ms);
  EXPECT_EQ(SeenOnLease(), "2");
}

TEST_F(RegistrationTest, ADeletedLeaseIsCreatedAgainAndReported) {
  Start();
  See(5);
  api_.DeleteJson(kube::kLeases, kLease);
  EXPECT_EQ(registered_, 1);
  Pass(10s);
  EXPECT_EQ(SeenOnLease(), "5");
  EXPECT_EQ(registered_, 2) << "the operator may have waited for the others alone";
}

TEST_F(RegistrationTest, ALeaseThatSomebodyReplacedIsReported) {
  Start();
  api_.DeleteJson(kube::kLeases, kLease);
  api_.CreateJson(kube::kLeases, {{"metadata", {{"name", kLease.name}, {"namespace", kLease.ns}}}});
  Pass(10s);
  EXPECT_EQ(registered_, 2);
}

TEST_F(RegistrationTest, WithoutRenewalItIsNotInForceAfter15Seconds) {
  Start();
  api_.Stop();
  Pass(14900ms);
  EXPECT_TRUE(registration_.in_force());
  Pass(100ms);
  EXPECT_FALSE(registration_.in_force());
  EXPECT_GE(api_.CountCalls("PATCH"), 4) << "attempts before the time is over";
  Pass(300s);
  EXPECT_LT(api_.CountCalls("PATCH"), 150) << "bounded while the API server is down";
  api_.Start();
  Pass(5s);
  EXPECT_TRUE(registration_.in_force());
  EXPECT_EQ(registered_, 1) << "the Lease is the same";
}

// The API server may have stored a slow write right after it was sent.
TEST_F(RegistrationTest, TheTimeOfARenewalIsThatOfTheRequest) {
  api_.BeforeEach([&](const std::string& call) {
    if (call.starts_with("POST")) clock_.Advance(9s);
  });
  Start();
  clock_.Advance(5900ms);
  EXPECT_TRUE(registration_.in_force());
  clock_.Advance(100ms);
  EXPECT_FALSE(registration_.in_force());
}

TEST_F(RegistrationTest, AFailedWriteDoesNotHurryBecauseOfAcknowledgements) {
  Start();
  Pass(1s);
  api_.Stop();
  int calls = static_cast<int>(api_.calls().size());
  for (uint64_t version = 1; version <= 100; ++version) See(version);
  EXPECT_EQ(api_.calls().size(), calls + 1u);
  api_.Start();
  Pass(1s);
  EXPECT_EQ(SeenOnLease(), "100");
}

TEST_F(RegistrationTest, EndDeletesTheLease) {
  Start();
  Stop();
  EXPECT_THAT(kube::Run(io_, registration_.End()), kube::IsOk());
  EXPECT_FALSE(registration_.in_force());
  EXPECT_EQ(SeenOnLease(), "no Lease");
  EXPECT_THAT(kube::Run(io_, registration_.End()), kube::IsOk()) << "already deleted";
  api_.Stop();
  EXPECT_THAT(kube::Run(io_, registration_.End()), kube::FailsWith(kube::Code::kUnavailable));
}

}  // namespace
}  // namespace policy
