// SPDX-License-Identifier: Apache-2.0
#include "exec-format/learning/look_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace exec_format {
namespace {

using testing::ElementsAre;

Look Other(const std::string& ns, const std::string& image) {
  return {.images = {.pod = {ns, "image-findings/look"}, .identity = {}, .images = {{image}}},
          .architectures = {"amd64", "arm64"}};
}
Look Failed(const std::string& ns, const std::string& image, const std::string& uid = "u") {
  Look look = Other(ns, image);
  Failure failure;
  failure.container.uid = uid;
  failure.container.path = "/app";
  look.failure = std::move(failure);
  return look;
}
std::vector<std::string> TakeAll(LookQueue& queue) {
  std::vector<std::string> taken;
  while (std::optional<Look> look = queue.Take()) taken.push_back(look->ns() + " " + look->image());
  return taken;
}

TEST(LookQueue, NamespacesTakeTurnsAndFailuresComeFirst) {
  LookQueue queue;
  EXPECT_TRUE(queue.Push(Other("a", "i0")));
  for (const char* image : {"i1", "i2", "i3"}) EXPECT_TRUE(queue.Push(Failed("a", image)));
  EXPECT_TRUE(queue.Push(Failed("b", "i4")));
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_THAT(TakeAll(queue), ElementsAre("a i1", "b i4", "a i2", "a i3", "a i0"));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(LookQueue, TheSameLookWaitsOnce) {
  LookQueue queue;
  EXPECT_TRUE(queue.Push(Failed("a", "i", "u1")));
  EXPECT_TRUE(queue.Push(Failed("a", "i", "u1")));
  EXPECT_TRUE(queue.Push(Failed("a", "i", "u2")));
  EXPECT_TRUE(queue.Push(Other("a", "i")));
  EXPECT_TRUE(queue.Push(Other("a", "i")));
  EXPECT_EQ(queue.size(), 3U);
  TakeAll(queue);
  EXPECT_TRUE(queue.Push(Failed("a", "i", "u1")));
  EXPECT_EQ(queue.size(), 1U);
}

TEST(LookQueue, ANamespaceAndAllHaveTheirRoom) {
  LookQueue queue;
  for (size_t i = 0; i < LookQueue::kOfNamespace; ++i)
    EXPECT_TRUE(queue.Push(Failed("a", "i" + std::to_string(i))));
  EXPECT_FALSE(queue.Push(Failed("a", "one too many")));
  EXPECT_TRUE(queue.Push(Other("a", "of another kind")));
  for (size_t ns = 1; ns < LookQueue::kInAll / LookQueue::kOfNamespace; ++ns) {
    for (size_t i = 0; i < LookQueue::kOfNamespace; ++i)
      EXPECT_TRUE(queue.Push(Failed("n" + std::to_string(ns), "i" + std::to_string(i))));
  }
  EXPECT_FALSE(queue.Push(Failed("late", "i")));
  ASSERT_TRUE(queue.Take());
  EXPECT_TRUE(queue.Push(Failed("late", "i")));
  queue.Clear();
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_FALSE(queue.Take());
}

TEST(LookQueue, ALargeOneIsNotKept) {
  LookQueue queue;
  auto with_secrets = [](size_t count) {
    Look look = Other("a", "i");
    inspection::PodIdentity identity;
    for (size_t i = 0; i < count; ++i) identity.pull_secrets.push_back(std::string(253, 's'));
    look.images.identity = std::make_shared<const inspection::PodIdentity>(std::move(identity));
    return look;
  };
  EXPECT_FALSE(queue.Push(with_secrets(100)));
  EXPECT_TRUE(queue.Push(with_secrets(16)));
  Look failed = Failed("a", "i");
  failed.failure->container.command.args = {std::string(LookQueue::kMaxBytes, 'x')};
  EXPECT_FALSE(queue.Push(std::move(failed)));
}

}  // namespace
}  // namespace exec_format
