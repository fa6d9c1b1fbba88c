// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_file_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace exec_format {
namespace {

ImageFile File(const std::string& path) { return {.files = {{path, "sha256:l", {}}}}; }

TEST(ImageFileCacheTest, TheLeastRecentlyUsedGoes) {
  ImageFileCache cache(10'000);
  for (int i = 0; i < 1000; ++i) {
    cache.Put("key" + std::to_string(i), File("/app" + std::to_string(i)));
    ASSERT_NE(cache.Find("key0"), nullptr) << i;
    EXPECT_LE(cache.bytes(), 10'000u);
  }
  EXPECT_EQ(cache.Find("key0")->files[0].path, "/app0");
  EXPECT_NE(cache.Find("key999"), nullptr);
  EXPECT_EQ(cache.Find("key500"), nullptr);
  EXPECT_GE(cache.size(), 5u);
}

TEST(ImageFileCacheTest, AnswersAreReplacedAndLargeOnesNotKept) {
  ImageFileCache cache(10'000);
  cache.Put("a", File("/one"));
  const size_t bytes = cache.bytes();
  cache.Put("a", File("/two"));
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(cache.Find("a")->files[0].path, "/two");
  cache.Put("a", File(std::string(20'000, 'x')));
  EXPECT_EQ(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ImageFileCacheTest, KeysOfAllThatMatters) {
  std::set<std::string> keys;
  const WantedPlatform amd64{"linux", "amd64"};
  keys.insert(ImageFileKey("sha256:a", amd64, {}));
  keys.insert(ImageFileKey("sha256:b", amd64, {}));
  keys.insert(ImageFileKey("sha256:a", {"linux", "arm64"}, {}));
  keys.insert(ImageFileKey("sha256:a", {"linux", "arm64", "v8"}, {}));
  keys.insert(ImageFileKey("sha256:a", amd64, {.path = "/x"}));
  keys.insert(ImageFileKey("sha256:a", amd64, {.container = {.command = {"/x"}}}));
  keys.insert(ImageFileKey("sha256:a", amd64, {.container = {.args = {"/x"}}}));
  keys.insert(ImageFileKey("sha256:a", amd64, {.container = {.command = {"/", "x"}}}));
  keys.insert(ImageFileKey("sha256:a", amd64, {.container = {.path = ""}}));
  keys.insert(ImageFileKey("sha256:a", amd64, {.container = {.working_dir = "/x"}}));
  EXPECT_EQ(keys.size(), 10u);
}

}  // namespace
}  // namespace exec_format
