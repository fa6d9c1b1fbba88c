// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace exec_format {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string Digest(char c) { return "sha256:" + std::string(64, c); }
std::string Entry(char digest, const std::string& os, const std::string& architecture,
                  const std::string& variant = "") {
  return R"({"digest":")" + Digest(digest) + R"(","platform":{"os":")" + os +
         R"(","architecture":")" + architecture +
         (variant.empty() ? R"("}})" : R"(","variant":")" + variant + R"("}})");
}

TEST(ImageManifestTest, Layers) {
  auto manifest = ParseImageManifest(
      R"({"config":{"digest":")" + Digest('c') + R"("},"layers":[{"digest":")" + Digest('1') +
      R"(","size":5,"mediaType":"x"},{"digest":")" + Digest('2') + R"(","size":7}]})");
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ(manifest->config_digest, Digest('c'));
  ASSERT_THAT(manifest->layers, SizeIs(2));
  EXPECT_EQ(manifest->layers[0].digest, Digest('1'));
  EXPECT_EQ(manifest->layers[0].media_type, "x");
  EXPECT_EQ(manifest->layers[1].size, 7u);
}

TEST(ImageManifestTest, WhatIsNoManifest) {
  const std::string config = R"("config":{"digest":")" + Digest('c') + R"("})";
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("{}"),
        "{" + config + R"(,"layers":[{"digest":"x","size":1}]})",
        "{" + config + R"(,"layers":[{"digest":")" + Digest('1') + R"(","size":-1}]})",
        "{" + config + R"(,"layers":[{"digest":")" + Digest('1') + R"("}]})",
        "{" + config + R"(,"layers":["x"]})"})
    EXPECT_THAT(ParseImageManifest(body), FailsWith(Code::kInvalid)) << body;
  EXPECT_THAT(IsIndex(R"({"manifests":[],"layers":[]})"), FailsWith(Code::kInvalid));
  EXPECT_THAT(IsIndex("{}"), FailsWith(Code::kInvalid));
  EXPECT_EQ(*IsIndex(R"({"manifests":[]})"), true);
  EXPECT_EQ(*IsIndex(R"({"layers":[]})"), false);
}

TEST(ImageManifestTest, ThePlatformOfAnIndex) {
  const std::string index =
      R"({"manifests":[)" + Entry('1', "linux", "amd64", "v2") + "," +
      Entry('2', "linux", "amd64") + "," + Entry('3', "linux", "arm64", "v8") + "," +
      Entry('4', "windows", "amd64") + "," + Entry('5', "unknown", "unknown") + "," +
      Entry('6', "linux", "x86_64") + R"(,{"digest":")" + Digest('7') +
      R"(","mediaType":"application/vnd.oci.image.index.v1+json"},3,{}]})";
  auto choose = [&](const WantedPlatform& platform) {
    auto choice = ChooseFromIndex(index, platform);
    EXPECT_THAT(choice, IsOk());
    EXPECT_THAT(choice->nested, ElementsAre(Digest('7')));
    return choice->digest.empty() ? "" : choice->digest.substr(7, 1);
  };
  EXPECT_EQ(choose({"linux", "amd64"}), "2");
  EXPECT_EQ(choose({"linux", "amd64", "v2"}), "1");
  EXPECT_EQ(choose({"linux", "amd64", "v3"}), "2");
  EXPECT_EQ(choose({"linux", "arm64"}), "3");
  EXPECT_EQ(choose({"linux", "arm64", "v9"}), "");
  EXPECT_EQ(choose({"windows", "amd64"}), "4");
  EXPECT_EQ(choose({"linux", "s390x"}), "");
}

TEST(ImageManifestTest, ReadableLayers) {
  EXPECT_TRUE(IsReadableLayer("application/vnd.oci.image.layer.v1.tar+zstd"));
  EXPECT_TRUE(IsReadableLayer("application/vnd.docker.image.rootfs.diff.tar.gzip"));
  for (const char* type : {"application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
                           "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
                           "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
                           "application/vnd.wasm.content.layer.v1+wasm"})
    EXPECT_FALSE(IsReadableLayer(type)) << type;
}

}  // namespace
}  // namespace exec_format
