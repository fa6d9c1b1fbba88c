// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "placement/platforms.h"

namespace ephemeral {
namespace {

using placement::ArchitectureSet;
using placement::CommonPlatforms;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

const NodePlatform kNode{.name = "worker-3", .os = "linux", .architecture = "arm64"};
const NamedImage kImage{.container = "debugger", .image = "docker.io/library/x:1"};

CommonPlatforms By(std::map<std::string, ArchitectureSet> by_os) {
  CommonPlatforms platforms;
  platforms.by_os = std::move(by_os);
  return platforms;
}

std::string With(const NamedImage& image, const ArchitectureSet& linux = {"amd64"}) {
  return WarningFor(image, kNode, CommonPlatforms(linux));
}

TEST(WarningTest, NamesTheArchitectureThatTheImageLacks) {
  EXPECT_EQ(WarningFor(kImage, kNode, CommonPlatforms({"amd64", "s390x"})),
            "image \"docker.io/library/x:1\" of the ephemeral container \"debugger\" is not for "
            "arm64, the architecture of the node \"worker-3\"; it is for amd64, s390x");
}

TEST(WarningTest, NamesTheOperatingSystemThatTheImageLacks) {
  EXPECT_EQ(WarningFor(kImage, kNode, By({{"windows", {"amd64", "arm64"}}})),
            "image \"docker.io/library/x:1\" of the ephemeral container \"debugger\" is not for "
            "linux, the operating system of the node \"worker-3\"; it is for windows/amd64, "
            "windows/arm64");
  NodePlatform windows{.name = "w", .os = "windows", .architecture = "amd64"};
  EXPECT_THAT(WarningFor(kImage, windows, CommonPlatforms({"amd64"})),
              AllOf(HasSubstr("is not for windows, the operating system"),
                    EndsWith("it is for linux/amd64")));
}

TEST(WarningTest, AnImageThatFitsCausesNone) {
  EXPECT_EQ(WarningFor(kImage, kNode, CommonPlatforms({"amd64", "arm64"})), "");
  CommonPlatforms every;
  every.every = true;
  EXPECT_EQ(WarningFor(kImage, kNode, every), "");
  // Nothing is known of it.
  EXPECT_EQ(WarningFor(kImage, kNode, {}), "");
}

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

TEST(WarningTest, NamesCannotBreakTheLine) {
  NamedImage image{.container = "a\r\nX-Header: b", .image = std::string("x\0\x1b[31m\"\n", 9)};
  std::string text = With(image, {"amd\x01"
                                  "64"});
  EXPECT_TRUE(IsPrintable(text)) << text;
  EXPECT_THAT(text, HasSubstr("container \"a??X-Header: b\""));
  EXPECT_THAT(text, HasSubstr("image \"x??[31m??\""));
  EXPECT_THAT(text, EndsWith("amd?64"));
  // Letters that look like others, and halves of characters.
  EXPECT_TRUE(IsPrintable(With({.container = "\xd0\xb0", .image = "\xff\xe2\x80"})));
}

// Each name at its limit, and all of them: the API server would cut the end.
TEST(WarningTest, IsNeverTooLong) {
  const std::string long_image = "registry.example/" + std::string(1000, 'i') + ":1.2.3";
  ArchitectureSet many;
  for (int i = 0; i < 100; ++i) many.insert("architecture" + std::to_string(i));
  NodePlatform node{.name = std::string(253, 'n'),
                    .os = std::string(63, 'o'),
                    .architecture = std::string(63, 'a')};
  for (const NamedImage& image :
       {NamedImage{.container = "debugger", .image = long_image},
        NamedImage{.container = std::string(253, 'c'), .image = "x:1"},
        NamedImage{.container = std::string(253, 'c'), .image = long_image}}) {
    for (const NodePlatform& on : {kNode, node}) {
      for (const ArchitectureSet& linux : {ArchitectureSet{"amd64"}, many}) {
        std::string text = WarningFor(image, on, CommonPlatforms(linux));
        EXPECT_LE(text.size(), kMaxWarningBytes) << text;
        EXPECT_THAT(text, HasSubstr("of the node \"")) << text;
        EXPECT_THAT(text, HasSubstr("; it is for ")) << text;
      }
    }
  }
  // The start and the end of the image are shown, and the names that have room.
  EXPECT_THAT(With({.container = "debugger", .image = long_image}),
              AllOf(HasSubstr("image \"registry.example/"), HasSubstr("...iii"),
                    HasSubstr("i:1.2.3\""), HasSubstr("\"debugger\""), HasSubstr("arm64")));
}

TEST(WarningTest, ManyArchitecturesAreCounted) {
  ArchitectureSet many;
  for (int i = 0; i < 20; ++i) many.insert("a" + std::to_string(i));
  EXPECT_THAT(With(kImage, many), EndsWith(" and 12 more"));
}

}  // namespace
}  // namespace ephemeral
