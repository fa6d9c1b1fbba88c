// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/image_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace plugin {
namespace {

TEST(ImageDetailsTest, IndexWithoutAttestations) {
  auto summary = SummarizeManifest(R"({"manifests":[
      {"digest":"sha256:a","platform":{"os":"linux","architecture":"arm64","variant":"v8"}},
      {"digest":"sha256:b","platform":{"os":"unknown","architecture":"unknown"}},
      {"digest":"sha256:c"}, 7, {"digest":5,"platform":"x"}]})");
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->is_index);
  ASSERT_EQ(summary->variants.size(), 4u);
  EXPECT_EQ(summary->variants[0].platform, "linux/arm64/v8");
  EXPECT_EQ(summary->variants[0].digest, "sha256:a");
  EXPECT_EQ(summary->variants[1].platform, "");
}

TEST(ImageDetailsTest, SizesOfAHostileManifest) {
  auto size = [](const char* layers) {
    return SummarizeManifest(std::string(R"({"layers":)") + layers + "}")->bytes;
  };
  EXPECT_EQ(size(R"([{"size":5},{"size":7}])"), 12u);
  EXPECT_EQ(size(R"([{"size":-5},{"size":"x"},{},4])"), 0u);
  EXPECT_EQ(size(R"([{"size":9223372036854775807},{"size":9223372036854775807}])"),
            uint64_t{1} << 50);
  EXPECT_EQ(size("7"), 0u);
  EXPECT_FALSE(SummarizeManifest("[]"));
  EXPECT_FALSE(SummarizeManifest("{"));
}

TEST(ImageDetailsTest, Bytes) {
  EXPECT_EQ(DescribeBytes(0), "0 B");
  EXPECT_EQ(DescribeBytes(999), "999 B");
  EXPECT_EQ(DescribeBytes(31'249'000), "31.2 MB");
  EXPECT_EQ(DescribeBytes(uint64_t{1} << 50), "1.1 PB");
}

TEST(ImageDetailsTest, ForPeople) {
  ImageDetails details{.image = "r.io/app:1",
                       .digest = "sha256:i",
                       .place = "mirror.io/app: mirror of r.io",
                       .access = "shop/key key r.io",
                       .variants = {{"linux/arm64", "sha256:a", 31'249'000}},
                       .platforms = std::make_shared<placement::ImagePlatforms>(
                           placement::ImagePlatforms{.platforms = {{"linux", "arm64"}}})};
  EXPECT_EQ(Say(details),
            "r.io/app:1\n"
            "digest    sha256:i\n"
            "from      mirror.io/app: mirror of r.io\n"
            "access    shop/key key r.io\n"
            "runs on   linux/arm64\n"
            "\n"
            "PLATFORM      SIZE      DIGEST\n"
            "linux/arm64   31.2 MB   sha256:a\n");
  details.error = "registry r.io: 404\x1b[2J";
  EXPECT_EQ(Say(details), "r.io/app:1\nerror     registry r.io: 404 [2J\n");
  EXPECT_EQ(AsJson(details).size(), 2u);
}

}  // namespace
}  // namespace plugin
