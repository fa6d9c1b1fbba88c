// SPDX-License-Identifier: Apache-2.0
#include "fleet/bounds/bounded_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fleet/api/budgets.h"
#include "fleet/testing/hub_fixture.h"
#include "fleet/testing/make_object.h"
#include "kube/testing/run.h"
#include "kube/types/resource.h"

namespace fleet {
namespace {

using kube::Json;
using kube::ObjectKey;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One of 500 bytes of names needs 2,009.
constexpr Budget kSmall{
    .object = 2500, .owner = 3000, .total = 5000, .owner_objects = 4, .objects = 6};

// Names of so many bytes together; the older the smaller `age`.
Json Score(const std::string& cluster, const std::string& name, size_t bytes, int age) {
  Json score = MakeScore(cluster, name, "s", 1);
  Json& scores = score["status"]["scores"] = Json::array();
  for (size_t i = 0; i < bytes; i += 100)
    scores.push_back({{"name", std::to_string(i) + std::string(99, 's')}, {"value", 1}});
  score["metadata"]["creationTimestamp"] = "2026-01-01T00:00:0" + std::to_string(age) + "Z";
  return score;
}

class BoundedWatchTest : public HubFixture {
 protected:
  void Start() {
    watch_.Listen([this](const kube::Resource&, const ObjectKey& key, const std::string& message) {
      told_.push_back(key.ToString() + " " + message);
    });
    watch_.Start(tasks_, "scores");
    ASSERT_TRUE(kube::RunUntil(io_, [&] { return watch_.synced(); }));
    kube::Drain(io_);
  }
  void Create(const Json& score) {
    api_.CreateJson(kAddOnPlacementScores, score);
    kube::Drain(io_);
  }
  void Delete(const ObjectKey& key) {
    api_.DeleteJson(kAddOnPlacementScores, key);
    kube::Drain(io_);
  }
  std::vector<std::string> InForce() const {
    std::vector<std::string> names;
    for (const auto& [key, score] : stored_) names.push_back(key.ToString());
    return names;
  }

  std::map<ObjectKey, AddOnPlacementScore> stored_;
  std::vector<std::string> told_;
  std::map<ObjectKey, Excess> left_out_;
  BoundedWatch watch_{api_, clock_, kAddOnPlacementScores, kSmall,
                      NewFollower<AddOnPlacementScore>(
                          {.put =
                               [this](AddOnPlacementScore score) {
                                 ObjectKey key{score.cluster, score.name};
                                 left_out_.erase(key);
                                 stored_[key] = std::move(score);
                               },
                           .leave_out =
                               [this](const ObjectKey& key, Excess excess, AddOnPlacementScore*) {
                                 stored_.erase(key);
                                 left_out_[key] = excess;
                               },
                           .remove =
                               [this](const ObjectKey& key) {
                                 stored_.erase(key);
                                 left_out_.erase(key);
                               }})};
};

TEST_F(BoundedWatchTest, WhatHasRoomAgainIsRead) {
  Create(Score("c1", "a", 500, 1));
  Start();
  EXPECT_THAT(InForce(), ElementsAre("c1/a"));
  Create(Score("c2", "a", 500, 2));
  EXPECT_THAT(InForce(), ElementsAre("c1/a", "c2/a"));
  Create(Score("c3", "a", 500, 3));
  EXPECT_THAT(InForce(), ElementsAre("c1/a", "c2/a"));
  EXPECT_EQ(left_out_.at({"c3", "a"}), Excess::kTotal);
  EXPECT_EQ(watch_.left_out(), 1u);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("c3/a is not in force: it needs")));

  // An update changes nothing, and is not said again.
  api_.PatchJson(kAddOnPlacementScores, {"c3", "a"}, {{"metadata", {{"labels", {{"a", "b"}}}}}});
  kube::Drain(io_);
  EXPECT_THAT(InForce(), ElementsAre("c1/a", "c2/a"));
  EXPECT_EQ(told_.size(), 1u);

  Delete({"c1", "a"});
  EXPECT_THAT(InForce(), ElementsAre("c2/a", "c3/a"));
  EXPECT_EQ(stored_.at({"c3", "a"}).scores.size(), 5u);
  EXPECT_EQ(watch_.left_out(), 0u);
  EXPECT_EQ(api_.CountCalls("GET /apis/cluster.open-cluster-management.io/v1alpha1/namespaces/c3/"),
            1);
}

TEST_F(BoundedWatchTest, AnOlderObjectDisplacesAYoungerOne) {
  Start();
  Create(Score("c2", "a", 500, 2));
  Create(Score("c3", "a", 500, 3));
  Create(Score("c1", "a", 500, 1));
  EXPECT_THAT(InForce(), ElementsAre("c1/a", "c2/a"));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("c3/a gave way to older ones")));
}

TEST_F(BoundedWatchTest, OneObjectAndOneOwnerAreBounded) {
  Start();
  Create(Score("c1", "large", 1000, 1));
  Create(Score("c1", "b", 300, 2));
  Create(Score("c1", "c", 500, 3));
  EXPECT_THAT(InForce(), ElementsAre("c1/b"));
  EXPECT_EQ(left_out_.at({"c1", "large"}), Excess::kObject);
  EXPECT_EQ(left_out_.at({"c1", "c"}), Excess::kOwner);
}

TEST_F(BoundedWatchTest, TheNumberOfKnownObjectsIsBounded) {
  Start();
  for (int i = 0; i < 6; ++i) Create(Score("c1", "large" + std::to_string(i), 1000, 1));
  EXPECT_EQ(watch_.left_out(), 4u);
  EXPECT_EQ(left_out_.at({"c1", "large4"}), Excess::kOwnerObjects);
  EXPECT_EQ(told_.size(), 4u) << "three, and the first of those that are not known";
  // Others have room, until there are too many in all.
  Create(Score("c2", "a", 100, 2));
  Create(Score("c3", "a", 100, 3));
  Create(Score("c4", "a", 100, 4));
  EXPECT_THAT(InForce(), ElementsAre("c2/a", "c3/a"));
  EXPECT_EQ(left_out_.at({"c4", "a"}), Excess::kObjects);
  Delete({"c2", "a"});
  api_.PatchJson(kAddOnPlacementScores, {"c4", "a"}, {{"metadata", {{"labels", {{"a", "b"}}}}}});
  kube::Drain(io_);
  EXPECT_THAT(InForce(), ElementsAre("c3/a", "c4/a"));
}

TEST_F(BoundedWatchTest, ReadingIsTriedAgain) {
  Start();
  Create(Score("c1", "a", 500, 1));
  Create(Score("c2", "a", 500, 2));
  Create(Score("c3", "a", 500, 3));
  api_.FailNext(kube::Error::Unavailable("down"), "GET ");
  Delete({"c1", "a"});
  EXPECT_THAT(InForce(), ElementsAre("c2/a"));
  Pass(1s);
  EXPECT_THAT(InForce(), ElementsAre("c2/a", "c3/a"));

  // It is deleted before it is read.
  Create(Score("c4", "a", 500, 4));
  api_.FailNext(kube::Error::Unavailable("down"), "GET ");
  Delete({"c2", "a"});
  Delete({"c4", "a"});
  Pass(1s);
  EXPECT_THAT(InForce(), ElementsAre("c3/a"));
  EXPECT_THAT(left_out_, IsEmpty());
}

}  // namespace
}  // namespace fleet
