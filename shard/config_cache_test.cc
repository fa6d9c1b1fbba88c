// SPDX-License-Identifier: Apache-2.0
#include "shard/config_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace shard {
namespace {

using api::PodPlacementConfig;
using kube::EventType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

class ConfigCacheTest : public ::testing::Test {
 protected:
  PodPlacementConfig Config(const char* name) {
    PodPlacementConfig config;
    config.mutable_metadata()->set_name(name);
    config.mutable_metadata()->set_namespace_("ns");
    return config;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const PodPlacementConfig* config : cache_.All()) names.push_back(config->metadata().name());
    return names;
  }
  kube::Result<> Learn(std::vector<std::string> names) { return kube::Run(io_, cache_.Learn(std::move(names))); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  ConfigCache cache_{api_, clock_, "ns"};
};

TEST_F(ConfigCacheTest, HasWhatTheWatchTells) {
  cache_.OnEvent(EventType::kAdded, Config("a"));
  cache_.OnEvent(EventType::kAdded, Config("b"));
  cache_.OnEvent(EventType::kModified, Config("b"));
  EXPECT_THAT(Names(), UnorderedElementsAre("a", "b"));
  cache_.OnEvent(EventType::kDeleted, Config("a"));
  EXPECT_THAT(Names(), ElementsAre("b"));
  EXPECT_THAT(Learn({"b"}), kube::IsOk());
  EXPECT_TRUE(api_.calls().empty());
}

TEST_F(ConfigCacheTest, LearnsAConfigOnceUntilTheWatchBringsIt) {
  api_.Create(Config("a"));
  EXPECT_THAT(Learn({"a"}), kube::IsOk());
  EXPECT_THAT(Learn({"a"}), kube::IsOk());
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_EQ(api_.calls().size(), 1u);
  cache_.OnEvent(EventType::kAdded, Config("a"));
  EXPECT_THAT(Names(), ElementsAre("a"));
  cache_.OnEvent(EventType::kDeleted, Config("a"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(ConfigCacheTest, WhatTheWatchNeverBringsIsForgotten) {
  api_.Create(Config("a"));
  EXPECT_THAT(Learn({"a"}), kube::IsOk());
  api_.Delete<PodPlacementConfig>({"ns", "a"});
  clock_.Advance(10s);
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(Learn({"a"}), kube::IsOk());
  EXPECT_EQ(api_.calls().size(), 2u);
}

TEST_F(ConfigCacheTest, AbsenceCountsForASecond) {
  EXPECT_THAT(Learn({"gone"}), kube::IsOk());
  EXPECT_THAT(Learn({"gone"}), kube::IsOk());
  EXPECT_EQ(api_.calls().size(), 1u);
  clock_.Advance(1s);
  api_.Create(Config("gone"));
  EXPECT_THAT(Learn({"gone"}), kube::IsOk());
  EXPECT_THAT(Names(), ElementsAre("gone"));
}

TEST_F(ConfigCacheTest, SeveralCostOneCall) {
  api_.Create(Config("a"));
  api_.Create(Config("b"));
  EXPECT_THAT(Learn({"a", "b", "gone"}), kube::IsOk());
  EXPECT_THAT(Learn({"a", "b", "gone"}), kube::IsOk());
  EXPECT_THAT(Names(), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(api_.calls().size(), 1u);
}

TEST_F(ConfigCacheTest, AFailureIsNotTakenForAbsence) {
  api_.Create(Config("a"));
  api_.FailNext(kube::Error::Unavailable("503"));
  EXPECT_THAT(Learn({"a"}), kube::FailsWith(kube::Code::kUnavailable));
  EXPECT_THAT(Learn({"a"}), kube::IsOk());
  EXPECT_THAT(Names(), ElementsAre("a"));
}

}  // namespace
}  // namespace shard
