// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/node_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "api/names.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "kube/types/core.pb.h"

namespace ephemeral {
namespace {

using kube::Code;
using kube::FailsWith;

class NodeReaderTest : public testing::Test {
 protected:
  void Put(const std::string& name, const std::string& architecture) {
    kube::core::Node node;
    node.mutable_metadata()->set_name(name);
    auto& labels = *node.mutable_metadata()->mutable_labels();
    labels[std::string(api::kOsLabel)] = "linux";
    if (!architecture.empty()) labels[std::string(api::kArchLabel)] = architecture;
    api_.Get<kube::core::Node>({"", name}) ? api_.Update(node) : api_.Create(node);
  }
  std::string Read(const std::string& name) {
    auto node = kube::Run(io_, nodes_.Read(name));
    return node ? node->os + "/" + node->architecture : node.error().ToString();
  }
  // Counts the calls that end; `failed` those that fail.
  void Ask(const std::string& name) {
    boost::asio::co_spawn(io_, nodes_.Read(name),
                          [this](std::exception_ptr, kube::Result<NodePlatform> node) {
                            ++(node ? read_ : failed_);
                          });
    kube::Drain(io_);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::SlowClient client_{api_};
  NodeReader nodes_{client_, clock_};
  int read_ = 0;
  int failed_ = 0;
};

TEST_F(NodeReaderTest, ANodeIsReadOnceAMinute) {
  Put("a", "arm64");
  EXPECT_EQ(Read("a"), "linux/arm64");
  Put("a", "amd64");
  EXPECT_EQ(Read("a"), "linux/arm64");
  EXPECT_EQ(api_.CountCalls("GET"), 1);
  clock_.Advance(kNodeLifetime);
  EXPECT_EQ(Read("a"), "linux/amd64");
}

TEST_F(NodeReaderTest, AFailureIsNotKept) {
  EXPECT_THAT(kube::Run(io_, nodes_.Read("a")), FailsWith(Code::kNotFound));
  Put("a", "");
  EXPECT_THAT(kube::Run(io_, nodes_.Read("a")), FailsWith(Code::kInvalid));
  Put("a", "arm64");
  EXPECT_EQ(Read("a"), "linux/arm64");
}

TEST_F(NodeReaderTest, ConcurrentCallsShareAGet) {
  Put("a", "arm64");
  client_.Hold("/nodes/");
  for (int i = 0; i < 50; ++i) Ask("a");
  EXPECT_EQ(client_.waiting(), 1);
  client_.Release();
  kube::Drain(io_);
  EXPECT_EQ(read_, 50);
  EXPECT_LE(api_.CountCalls("GET"), 2);
}

TEST_F(NodeReaderTest, TheNumberOfGetsIsBounded) {
  client_.Hold("/nodes/");
  for (size_t i = 0; i < kMaxNodeReads; ++i) {
    Put("n" + std::to_string(i), "arm64");
    Ask("n" + std::to_string(i));
  }
  EXPECT_EQ(client_.waiting(), static_cast<int>(kMaxNodeReads));
  EXPECT_EQ(failed_, 0);
  Ask("another");
  EXPECT_EQ(failed_, 1);
  EXPECT_EQ(client_.waiting(), static_cast<int>(kMaxNodeReads));
  client_.Release();
  kube::Drain(io_);
  EXPECT_EQ(read_, static_cast<int>(kMaxNodeReads));
}

TEST_F(NodeReaderTest, TheNumberOfKeptNodesIsBounded) {
  for (size_t i = 0; i <= kMaxKeptNodes; ++i) {
    Put("n" + std::to_string(i), "arm64");
    EXPECT_EQ(Read("n" + std::to_string(i)), "linux/arm64");
  }
  int before = api_.CountCalls("GET");
  EXPECT_EQ(Read("n1"), "linux/arm64");
  EXPECT_EQ(api_.CountCalls("GET"), before);
  // The first one had to go.
  EXPECT_EQ(Read("n0"), "linux/arm64");
  EXPECT_EQ(api_.CountCalls("GET"), before + 1);
}

}  // namespace
}  // namespace ephemeral
