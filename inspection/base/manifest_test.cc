// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection/testing/mutate.h"
#include "kube/testing/matchers.h"

namespace inspection {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDigest = "sha256:" + std::string(64, 'b');

std::string Entry(const std::string& platform, const std::string& more = "") {
  return R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":")" +
         kDigest + "\"" + (platform.empty() ? "" : R"(,"platform":)" + platform) + more + "}";
}
std::string Index(const std::string& entries, std::string_view media_type = kOciIndex) {
  return R"({"schemaVersion":2,"mediaType":")" + std::string(media_type) + R"(","manifests":[)" +
         entries + "]}";
}
const std::string kAmd64 = Entry(R"({"os":"linux","architecture":"amd64"})");
const std::string kArm64 = Entry(R"({"os":"linux","architecture":"arm64","variant":"v8"})");
const std::string kImage =
    R"({"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json",
    "size":7,"digest":")" +
    kDigest + R"("},"layers":[]})";

TEST(ManifestTest, AnIndexNamesItsPlatforms) {
  for (std::string_view type : {kOciIndex, kDockerList}) {
    auto got = ParseManifest(Index(kArm64 + "," + kAmd64 + "," + kArm64, type));
    ASSERT_TRUE(got) << got.error();
    EXPECT_EQ(got->kind, Manifest::Kind::kIndex);
    EXPECT_THAT(got->platforms,
                ElementsAre(Platform{"linux", "amd64"}, Platform{"linux", "arm64"}));
  }
}

TEST(ManifestTest, EntriesThatAreNoImagesAreSkipped) {
  const std::string rows[] = {
      Entry("[]"),
      Entry(R"({"os":"unknown","architecture":"unknown"})"),  // attestation
      Entry(R"({"os":"linux"})"),
      Entry(R"({"os":"linux","architecture":""})"),
      Entry("", R"(,"artifactType":"application/spdx+json")"),
      Entry(R"({"os":"linux","architecture":7})"),
      Entry(R"({"os":"linux","architecture":"no/label value"})"),  // invalid as a label value
      Entry(R"({"os":"linux","architecture":"s390x"})",
            R"(,"annotations":{"vnd.docker.reference.type":"x"})"),
      "7",
      "null",
  };
  for (const std::string& row : rows) {
    auto got = ParseManifest(Index(row + "," + kAmd64));
    ASSERT_TRUE(got) << row << got.error();
    EXPECT_THAT(got->platforms, ElementsAre(Platform{"linux", "amd64"})) << row;
    EXPECT_THAT(got->without_platform, IsEmpty()) << row;
  }
}

TEST(ManifestTest, EntriesWithoutPlatformAreForTheCallerToFetch) {
  for (const char* platform : {"", "null", "{}", R"({"os":"","architecture":""})"}) {
    auto got = ParseManifest(Index(Entry(platform) + "," + kAmd64));
    ASSERT_TRUE(got) << platform << got.error();
    ASSERT_EQ(got->without_platform.size(), 1u) << platform;
    EXPECT_EQ(got->without_platform[0].digest, kDigest);
    EXPECT_THAT(got->platforms, ElementsAre(Platform{"linux", "amd64"}));
    EXPECT_FALSE(got->only_image);
  }
  std::string entries = Entry("");
  for (int i = 1; i < 16; ++i) entries += "," + Entry("");
  EXPECT_TRUE(ParseManifest(Index(entries)));
  EXPECT_THAT(
      ParseManifest(Index(entries + "," + Entry(""))),
      kube::FailsWith(kube::Code::kInvalid, HasSubstr("more than 16 entries without a platform")));
  EXPECT_THAT(ParseManifest(Index(R"({"digest":"x"})")), kube::FailsWith(kube::Code::kInvalid));
}

// As runtimes on linux read it.
TEST(ManifestTest, APlatformWithoutOperatingSystemIsLinux) {
  auto got = ParseManifest(Index(Entry(R"({"architecture":"arm64"})")));
  ASSERT_TRUE(got) << got.error();
  EXPECT_THAT(got->platforms, ElementsAre(Platform{"linux", "arm64"}));
}

TEST(ManifestTest, EntriesForWindowsTellTheirBuild) {
  auto entry = [](const std::string& version) {
    return Entry(R"({"os":"windows","architecture":"amd64","os.version":")" + version + "\"}");
  };
  auto got = ParseManifest(Index(entry("10.0.20348.1668") + "," + entry("10.0.17763")));
  ASSERT_TRUE(got) << got.error();
  EXPECT_THAT(got->platforms, ElementsAre(Platform{"windows", "amd64", "10.0.17763"},
                                          Platform{"windows", "amd64", "10.0.20348"}));
  for (const char* version : {"", "10", "10.0", "10.0.", "10..1", "a.b.c", "10.0.1x", "-1.0.1"})
    EXPECT_EQ(WindowsBuild(version), "") << version;
  EXPECT_EQ(WindowsBuild("10.0." + std::string(64, '1')), "");
  // Other systems have versions of other kinds.
  got = ParseManifest(
      Index(Entry(R"({"os":"linux","architecture":"amd64","os.version":"10.0.17763"})")));
  ASSERT_TRUE(got) << got.error();
  EXPECT_THAT(got->platforms, ElementsAre(Platform{"linux", "amd64"}));
}

TEST(ManifestTest, AnArtifactSaysThatItIsNoImage) {
  auto artifact = [](const std::string& members) {
    auto got = ParseManifest(R"({"schemaVersion":2,"layers":[])" + members + "}");
    EXPECT_TRUE(got) << members << got.error();
    return got && got->artifact;
  };
  std::string config = R"(,"config":{"digest":")" + kDigest + R"(","mediaType":")";
  EXPECT_FALSE(artifact(R"(,"config":{"digest":")" + kDigest + "\"}"));
  EXPECT_FALSE(artifact(config + "application/vnd.oci.image.config.v1+json\"}"));
  EXPECT_FALSE(artifact(config + "application/vnd.docker.container.image.v1+json\"}"));
  EXPECT_TRUE(artifact(config + "application/vnd.cncf.helm.config.v1+json\"}"));
  EXPECT_TRUE(artifact(config + "application/vnd.oci.image.config.v1+json\"}" +
                       R"(,"artifactType":"application/spdx+json")"));
}

TEST(ManifestTest, AnIndexOfOneImageNamesIt) {
  auto one = ParseManifest(Index(kAmd64 + "," + Entry("[]")));
  ASSERT_TRUE(one && one->only_image);
  EXPECT_EQ(one->only_image->digest, kDigest);
  auto two = ParseManifest(Index(kAmd64 + "," + kArm64));
  ASSERT_TRUE(two);
  EXPECT_FALSE(two->only_image);
}

TEST(ManifestTest, PlatformsKeepTheirOperatingSystem) {
  auto got =
      ParseManifest(Index(kArm64 + "," + Entry(R"({"os":"windows","architecture":"amd64"})")));
  ASSERT_TRUE(got);
  EXPECT_THAT(got->platforms,
              ElementsAre(Platform{"linux", "arm64"}, Platform{"windows", "amd64"}));
}

TEST(ManifestTest, NestedIndexesAreForTheCallerToFetch) {
  std::string nested =
      R"({"mediaType":")" + std::string(kOciIndex) + R"(","digest":")" + kDigest + R"(","size":3})";
  auto got = ParseManifest(Index(nested));
  ASSERT_TRUE(got) << got.error();
  ASSERT_EQ(got->nested.size(), 1u);
  EXPECT_EQ(got->nested[0].digest, kDigest);
  EXPECT_THAT(got->platforms, IsEmpty());
}

TEST(ManifestTest, AnImageNamesItsConfig) {
  // By content, and by its mediaType.
  for (std::string_view type : {std::string_view(""), kOciManifest, kDockerManifest}) {
    std::string image = kImage;
    image.insert(1, R"("mediaType":")" + std::string(type) + "\",");
    auto got = ParseManifest(image);
    ASSERT_TRUE(got) << got.error();
    EXPECT_EQ(got->kind, Manifest::Kind::kImage);
    EXPECT_EQ(got->config.digest, kDigest);
    EXPECT_EQ(got->config.size, 7u);
  }
}

TEST(ManifestTest, AnIndexWithoutAMediaTypeIsDetected) {
  auto got = ParseManifest(R"({"schemaVersion":2,"manifests":[)" + kAmd64 + "]}");
  ASSERT_TRUE(got) << got.error();
  EXPECT_EQ(got->kind, Manifest::Kind::kIndex);
}

// Its digest does not cover the whole document: a server can change the rest under the same digest.
TEST(ManifestTest, Schema1IsNotSupported) {
  const std::string rows[] = {
      R"({"schemaVersion":1,"name":"a","tag":"b","architecture":"amd64","fsLayers":[]})",
      R"({"schemaVersion":1,"architecture":"amd64","signatures":[{"protected":"eyJmb3JtYXRMZW5ndGgiOjF9"}]})",
      R"({"mediaType":"application/vnd.docker.distribution.manifest.v1+prettyjws","architecture":"amd64"})",
      R"({"schemaVersion":1,"manifests":[)" + kAmd64 + "]}",
  };
  for (const std::string& row : rows) {
    EXPECT_THAT(ParseManifest(row),
                kube::FailsWith(kube::Code::kInvalid, HasSubstr("unsupported manifest type")));
  }
}

TEST(ManifestTest, ADocumentThatIsIndexAndImageIsRefused) {
  for (std::string_view type : {"", "application/vnd.oci.image.index.v1+json",
                                "application/vnd.oci.image.manifest.v1+json"}) {
    std::string both = kImage;
    both.insert(1, R"("mediaType":")" + std::string(type) + R"(","manifests":[)" + kAmd64 + "],");
    EXPECT_THAT(ParseManifest(both), kube::FailsWith(kube::Code::kInvalid, HasSubstr("both")));
  }
}

TEST(ManifestTest, RefusesOtherDocuments) {
  std::string many;
  for (int i = 0; i < 1025; ++i) many += (i == 0 ? "" : ",") + kAmd64;
  const std::string rows[] = {
      "",
      "null",
      "[]",
      "7",
      "{}",
      "{",
      R"({"manifests":7})",
      R"({"config":{}})",
      R"({"config":{"digest":"md5:1"}})",
      Index(many),
      std::string(5u << 20, ' '),
      R"({"config":{"digest":")" + kDigest + R"(","size":9000000}})",
      R"({"errors":[{"code":"DENIED"}]})",
  };
  for (const std::string& row : rows) {
    auto got = ParseManifest(row);
    ASSERT_FALSE(got) << row.substr(0, 100);
    EXPECT_EQ(got.error().code(), kube::Code::kInvalid);
  }
}

TEST(ImageConfigTest, NamesThePlatform) {
  auto got = ParseImageConfig(R"({"architecture":"s390x","os":"linux","rootfs":{}})");
  ASSERT_TRUE(got) << got.error();
  EXPECT_EQ(got->platform, (Platform{"linux", "s390x"}));
  EXPECT_FALSE(got->bundle);
}

TEST(ImageConfigTest, WithoutAnArchitectureItIsAnError) {
  for (const char* row :
       {R"({})", R"({"architecture":"","os":"linux"})", R"({"architecture":null})", "[]", "x",
        R"({"architecture":"unknown","os":"linux"})", R"({"architecture":"amd64","os":"a b"})"}) {
    EXPECT_TRUE(FailedWith(ParseImageConfig(row), kube::Code::kInvalid)) << row;
  }
}

TEST(ImageConfigTest, AnOperatorBundleNeedsNoArchitecture) {
  auto got = ParseImageConfig(
      R"({"config":{"Labels":{"operators.operatorframework.io.bundle.mediatype.v1":"registry+v1"}}})");
  ASSERT_TRUE(got) << got.error();
  EXPECT_TRUE(got->bundle);
}

TEST(ManifestTest, OtherNamesOfArchitecturesAreMappedToGo) {
  EXPECT_EQ(NormalizeArchitecture("x86_64"), "amd64");
  EXPECT_EQ(NormalizeArchitecture("aarch64"), "arm64");
  EXPECT_EQ(NormalizeArchitecture("AMD64"), "amd64");
  EXPECT_EQ(NormalizeArchitecture("riscv64"), "riscv64");
  EXPECT_EQ(NormalizeArchitecture("i686"), "386");
  EXPECT_EQ(NormalizeArchitecture("armhf"), "arm");
  EXPECT_EQ(NormalizeArchitecture(""), std::nullopt);
  EXPECT_EQ(NormalizeArchitecture("amd64,arm64"), std::nullopt);
}

TEST(ManifestTest, AnImageForALevelOfX8664NamesIt) {
  struct Row {
    const char* architecture;
    const char* variant;
    int level;
  };
  const Row kRows[] = {{"amd64", "v1", 0}, {"amd64", "v2", 2}, {"x86_64", "v3", 3},
                       {"amd64", "v4", 4}, {"amd64", "v5", 0}, {"amd64", "3", 0},
                       {"amd64", "", 0},   {"arm64", "v3", 0}};
  for (const Row& row : kRows) {
    std::string fields = R"({"os":"linux","architecture":")" + std::string(row.architecture) +
                         R"(","variant":")" + row.variant + "\"}";
    auto index = ParseManifest(Index(Entry(fields)));
    ASSERT_TRUE(index) << index.error();
    ASSERT_EQ(index->platforms.size(), 1u);
    EXPECT_EQ(index->platforms[0].amd64_level, row.level) << fields;
    auto config = ParseImageConfig(fields);
    ASSERT_TRUE(config) << config.error();
    EXPECT_EQ(config->platform.amd64_level, row.level) << fields;
  }
}

// A pod with such a label would look like one of the operator's own.
TEST(ManifestTest, ALabelOfTheOperatorIsNoArchitecture) {
  EXPECT_EQ(NormalizeArchitecture("Operand"), std::nullopt);
  EXPECT_FALSE(ParseImageConfig(R"({"architecture":"operand","os":"linux"})"));
}

// The node label has no variant.
TEST(ManifestTest, AVariantBelongsToItsArchitecture) {
  for (const char* variant : {"v5", "v6", "v7", "v8", "7", "", "x"}) {
    std::string fields =
        R"("os":"linux","architecture":"arm","variant":")" + std::string(variant) + "\"";
    auto index = ParseManifest(Index(Entry("{" + fields + "}") + "," + kArm64));
    ASSERT_TRUE(index) << index.error();
    EXPECT_THAT(index->platforms, ElementsAre(Platform{"linux", "arm"}, Platform{"linux", "arm64"}))
        << variant;
    auto config = ParseImageConfig("{" + fields + "}");
    ASSERT_TRUE(config) << config.error();
    EXPECT_EQ(config->platform, (Platform{"linux", "arm"})) << variant;
  }
  auto list =
      ParseManifest(Index(Entry(R"({"os":"linux","architecture":"arm","variant":"v6"})") + "," +
                              Entry(R"({"os":"linux","architecture":"arm","variant":"v7"})") + "," +
                              Entry(R"({"os":"linux","architecture":"armhf"})"),
                          kDockerList));
  ASSERT_TRUE(list) << list.error();
  EXPECT_THAT(list->platforms, ElementsAre(Platform{"linux", "arm"}));
  // Of one architecture, but of several images: none of them decides alone.
  EXPECT_FALSE(list->only_image);
}

TEST(ManifestTest, DamagedManifestsYieldNoInvalidArchitecture) {
  auto check = [](const std::string& text) {
    auto manifest = ParseManifest(text);
    if (manifest) {
      for (const Platform& platform : manifest->platforms) {
        EXPECT_EQ(NormalizeArchitecture(platform.architecture), platform.architecture) << text;
      }
    }
    auto config = ParseImageConfig(text);
    if (config && !config->bundle) {
      EXPECT_FALSE(config->platform.architecture.empty()) << text;
    }
  };
  ForMutations({Index(kAmd64 + "," + kArm64), kImage, R"({"architecture":"s390x","os":"linux"})"},
               5'000, check);
}

}  // namespace
}  // namespace inspection
