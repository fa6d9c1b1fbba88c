// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/nodes/node_image_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster-controller/nodes/testing/node_with_images.h"

namespace cluster_controller {
namespace {

using placement::Platform;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kOne = "sha256:" + std::string(64, '1');
const std::string kTwo = "sha256:" + std::string(64, '2');

class NodeImageIndexTest : public ::testing::Test {
 protected:
  bool Add(const std::string& os, const std::string& architecture,
           const std::vector<std::vector<std::string>>& images) {
    return index_.Add(NodeWithImages("n", os, architecture, images).SerializeAsString());
  }
  std::vector<Platform> Find(const std::string& image) const {
    return index_.Find(*inspection::Reference::Parse(image)).platforms;
  }

  NodeImageIndex index_{10'000};
};

TEST_F(NodeImageIndexTest, FindsByTheNameThatRuntimesComplete) {
  EXPECT_TRUE(
      Add("linux", "arm64", {{"docker.io/library/app@" + kOne, "docker.io/library/app:1"}}));
  EXPECT_TRUE(Add("linux", "s390x", {{"docker.io/library/app:1"}, {"r.io/other:latest"}}));
  EXPECT_TRUE(Add("windows", "amd64", {{"docker.io/library/app:1"}}));
  EXPECT_THAT(Find("app:1"), ElementsAre(Platform{"linux", "arm64"}, Platform{"linux", "s390x"},
                                         Platform{"windows", "amd64"}));
  EXPECT_THAT(Find("r.io/other"), ElementsAre(Platform{"linux", "s390x"}));
  EXPECT_THAT(Find("app:2"), IsEmpty());
  EXPECT_EQ(index_.nodes(), 3u);
}

// A digest is the same image under each name, and says more than the tag beside it.
TEST_F(NodeImageIndexTest, FindsByTheDigestFirst) {
  EXPECT_TRUE(Add("linux", "arm64", {{"mirror.io/app@" + kOne, "r.io/app:1"}}));
  EXPECT_TRUE(Add("linux", "s390x", {{"r.io/app@" + kTwo, "r.io/app:1"}}));
  EXPECT_THAT(Find("r.io/app@" + kOne), ElementsAre(Platform{"linux", "arm64"}));
  EXPECT_THAT(Find("r.io/app:1@" + kTwo), ElementsAre(Platform{"linux", "s390x"}));
  EXPECT_EQ(Find("r.io/app:1").size(), 2u);
}

TEST_F(NodeImageIndexTest, NodesWithoutAPlatformAreLeftOut) {
  EXPECT_TRUE(Add("linux", "", {{"r.io/app:1"}}));
  EXPECT_TRUE(Add("", "arm64", {{"r.io/app:1"}}));
  EXPECT_TRUE(Add("linux", "no label/value", {{"r.io/app:1"}}));
  EXPECT_THAT(Find("r.io/app:1"), IsEmpty());
}

TEST_F(NodeImageIndexTest, MalformedNodesAreNoNodes) {
  EXPECT_TRUE(index_.Add(""));
  EXPECT_FALSE(index_.Add("\xff\xff"));
  std::string node = NodeWithImages("n", "linux", "arm64", {{"r.io/app:1"}}).SerializeAsString();
  for (size_t size = 0; size < node.size(); ++size) index_.Add(node.substr(0, size));
  EXPECT_TRUE(Add("linux", "arm64", {{"", "@", "a@b", std::string(5000, 'x')}}));
}

TEST_F(NodeImageIndexTest, NamesHaveABudgetAndDigestsTheLargerPart) {
  for (int i = 0; i < 1000; ++i) {
    std::string digits = std::to_string(1000 + i);
    std::string digest = "sha256:" + std::string(60, '0') + digits;
    EXPECT_TRUE(Add("linux", "arm64", {{"r.io/app@" + digest, "r.io/app:" + digits}}));
  }
  auto kept = [&](const std::string& prefix) {
    int count = 0;
    for (int i = 0; i < 1000; ++i) count += Find(prefix + std::to_string(1000 + i)).size();
    return count;
  };
  int digests = kept("r.io/app@sha256:" + std::string(60, '0'));
  int tags = kept("r.io/app:");
  EXPECT_EQ(digests, 6667 / (71 + 64));
  EXPECT_EQ(tags, 3333 / (13 + 64));
  EXPECT_EQ(index_.left_out(), 2000u - digests - tags);
  // What is known is known of further nodes.
  EXPECT_TRUE(Add("linux", "s390x", {{"r.io/app:1000"}}));
  EXPECT_EQ(Find("r.io/app:1000").size(), 2u);
}

TEST_F(NodeImageIndexTest, PlatformsAreBounded) {
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(Add("linux", "arch" + std::to_string(i), {{"r.io/app:1"}}));
  EXPECT_EQ(Find("r.io/app:1").size(), 64u);
}

}  // namespace
}  // namespace cluster_controller
