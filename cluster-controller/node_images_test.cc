// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/node_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "cluster-controller/testing/node_with_images.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using placement::Platform;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeImagesTest : public ::testing::Test {
 protected:
  kube::Result<placement::SharedPlatforms> Find(const std::string& image) {
    return kube::Run(io_, nodes_.Find(image));
  }
  std::vector<Platform> Platforms(const std::string& image) {
    auto found = Find(image);
    return found ? (*found)->platforms : std::vector<Platform>();
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  NodeImages nodes_{api_, clock_};
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
