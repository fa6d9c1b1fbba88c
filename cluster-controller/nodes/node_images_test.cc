// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/nodes/node_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "cluster-controller/nodes/testing/node_with_images.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using placement::Platform;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeImagesTest : public ::testing::Test {
 protected:
  NodeImagesTest() {
    nodes_.OnListed([this](const kube::ObjectKey& pod) { woken_.push_back(pod.name); });
  }
  ~NodeImagesTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  // Like a pod: again once it is woken.
  kube::Result<placement::SharedPlatforms> Find(const std::string& image) {
    auto found = nodes_.Find({"ns", "web"}, image);
    if (!found) {
      kube::Drain(io_);
      EXPECT_THAT(woken_, ElementsAre("web"));
      woken_.clear();
      found = nodes_.Find({"ns", "web"}, image);
      EXPECT_TRUE(found);
    }
    nodes_.Forget({"ns", "web"});
    return found ? *found : kube::Error::Internal("waits");
  }
  std::vector<Platform> Platforms(const std::string& image) {
    auto found = Find(image);
    return found ? (*found)->platforms : std::vector<Platform>();
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  std::vector<std::string> woken_;
  NodeImages nodes_{api_, clock_, tasks_};
};

TEST_F(NodeImagesTest, NodesAreListedSeldomWhateverIsAsked) {
  EXPECT_EQ(api_.CountCalls("GET"), 0);
  for (int i = 0; i < 250; ++i)
    api_.Create(NodeWithImages("n" + std::to_string(i), "linux", "arm64", {{"r.io/app:1"}}));
  EXPECT_THAT(Platforms("r.io/app:1"), ElementsAre(Platform{"linux", "arm64"}));
  int pages = api_.CountCalls("GET");
  EXPECT_GE(pages, 3);
  api_.Create(NodeWithImages("new", "linux", "s390x", {{"r.io/app:1"}, {"r.io/app:2"}}));
  clock_.Advance(20s + 249 * 20ms);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Platforms("r.io/app:2"), IsEmpty());
  EXPECT_EQ(api_.CountCalls("GET"), pages);
  clock_.Advance(20ms);
  EXPECT_THAT(Platforms("r.io/app:2"), ElementsAre(Platform{"linux", "s390x"}));
  EXPECT_EQ(Platforms("r.io/app:1").size(), 2u);
}

// A pod that can have an answer does not wait for a newer one.
TEST_F(NodeImagesTest, NoPodWaitsForAListWithoutNeed) {
  api_.Create(NodeWithImages("n", "linux", "arm64", {{"r.io/app:1"}}));
  EXPECT_EQ(Platforms("r.io/app:1").size(), 1u);
  clock_.Advance(1min);
  EXPECT_TRUE(nodes_.Find({"ns", "known"}, "r.io/app:1"));
  EXPECT_FALSE(nodes_.Find({"ns", "new"}, "r.io/app:2"));
  EXPECT_FALSE(nodes_.Find({"ns", "deleted"}, "r.io/app:2"));
  nodes_.Forget({"ns", "deleted"});
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("new"));
}

// An image may have been loaded since the last list. A pod waits for one list, not for each.
TEST_F(NodeImagesTest, AtTheLastAttemptAPodWaitsForANewerList) {
  api_.Create(NodeWithImages("n", "linux", "arm64", {{"r.io/app:1"}}));
  EXPECT_EQ(Platforms("r.io/app:1").size(), 1u);
  api_.Create(NodeWithImages("new", "linux", "s390x", {{"r.io/app:2"}}));
  EXPECT_TRUE(nodes_.Find({"ns", "web"}, "r.io/app:2"));
  for (const char* image : {"r.io/app:2", "r.io/nowhere"}) {
    for (int again = 0; again < 2; ++again)
      EXPECT_FALSE(nodes_.Find({"ns", image}, image, /*wait=*/true)) << image;
  }
  kube::Drain(io_);
  EXPECT_THAT(woken_, IsEmpty());
  clock_.Advance(21s);
  kube::Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("r.io/app:2", "r.io/nowhere"));
  auto found = nodes_.Find({"ns", "r.io/app:2"}, "r.io/app:2", /*wait=*/true);
  ASSERT_TRUE(found && *found);
  EXPECT_THAT((**found)->platforms, ElementsAre(Platform{"linux", "s390x"}));
  found = nodes_.Find({"ns", "r.io/nowhere"}, "r.io/nowhere", /*wait=*/true);
  ASSERT_TRUE(found && *found);
  EXPECT_THAT((**found)->platforms, IsEmpty());
  // Nor does it wait for another of its images.
  EXPECT_TRUE(nodes_.Find({"ns", "r.io/app:2"}, "r.io/nowhere", /*wait=*/true));
  nodes_.Forget({"ns", "r.io/app:2"});
  EXPECT_FALSE(nodes_.Find({"ns", "r.io/app:2"}, "r.io/nowhere", /*wait=*/true));
}

TEST_F(NodeImagesTest, AFailedListIsNotRepeatedForEachPod) {
  api_.FailNext(kube::Error::PermissionDenied("403"), "GET", 1);
  for (int i = 0; i < 100; ++i) EXPECT_THAT(Find("r.io/app:1"), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(api_.CountCalls("GET"), 1);
  clock_.Advance(20s);
  api_.Create(NodeWithImages("n", "linux", "arm64", {{"r.io/app:1"}}));
  EXPECT_EQ(Platforms("r.io/app:1").size(), 1u);
  // What was known stays.
  clock_.Advance(1min);
  api_.FailNext(kube::Error::Unavailable("503"), "GET", 1);
  EXPECT_EQ(Platforms("r.io/app:1").size(), 1u);
}

TEST_F(NodeImagesTest, AWrongNameNeedsNoList) {
  EXPECT_THAT(Find("Not A Name"), FailsWith(Code::kInvalid));
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

}  // namespace
}  // namespace cluster_controller
