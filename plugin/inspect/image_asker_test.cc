// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/image_asker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "exec-format/testing/image_maker.h"
#include "exec-format/testing/make_elf.h"
#include "exec-format/testing/make_layer.h"
#include "image-facts/image_fact.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/base/clock.h"
#include "kube/testing/run.h"
#include "plugin/inspect/program_reader.h"

namespace plugin {
namespace {

using ::testing::HasSubstr;

std::string PlatformsOf(const ImageDetails& details) {
  return image_facts::PlatformsToText(*details.platforms);
}

class ImageAskerTest : public inspection::RegistryFixture {
 protected:
  ImageAskerTest() {
    inspection::InspectorConfig config;
    config.registries_conf = inspection::InsecureRegistriesConf(registry_.host());
    EXPECT_TRUE(asker_.Use(std::move(config)));
  }

  ImageDetails Ask(const std::string& image, bool sizes = true,
                   inspection::SharedKeyring keyring = {}) {
    return *kube::Run(io_, asker_.Ask({.image = registry_.host() + "/" + image,
                                       .keyring = std::move(keyring),
                                       .sizes = sizes}));
  }
  // Of one platform, with a layer of so many bytes.
  std::string PutImage(const std::string& tag, const std::string& architecture, int bytes) {
    const std::string config =
        registry_.PutBlob(R"({"os":"linux","architecture":")" + architecture + R"("})");
    return registry_.PutManifest("app", tag,
                                 R"({"schemaVersion":2,"config":{"digest":")" + config +
                                     R"("},"layers":[{"digest":"sha256:l","size":)" +
                                     std::to_string(bytes) + "}]}",
                                 inspection::kOciManifest);
  }
  static std::string Entry(const std::string& digest, const std::string& architecture) {
    return R"({"digest":")" + digest + R"(","platform":{"os":"linux","architecture":")" +
           architecture + R"("}})";
  }
  std::string PutIndex(const std::string& tag, const std::string& entries) {
    return registry_.PutManifest("app", tag, R"({"schemaVersion":2,"manifests":[)" + entries + "]}",
                                 inspection::kOciIndex);
  }

  std::vector<std::string> lines_;
  ImageAsker asker_{io_.get_executor(), kube::RealClock(),
                    [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(ImageAskerTest, SizesOfEachPlatform) {
  const std::string amd64 = PutImage("", "amd64", 100), arm64 = PutImage("", "arm64", 200);
  const std::string index = PutIndex("1", Entry(amd64, "amd64") + "," + Entry(arm64, "arm64"));
  ImageDetails details = Ask("app:1");
  EXPECT_EQ(details.error, "");
  EXPECT_EQ(details.digest, index);
  EXPECT_EQ(PlatformsOf(details), "linux/amd64 linux/arm64");
  ASSERT_EQ(details.variants.size(), 2u);
  EXPECT_EQ(details.variants[1].platform, "linux/arm64");
  EXPECT_EQ(details.variants[1].digest, arm64);
  EXPECT_EQ(details.variants[1].bytes, 200u);
  EXPECT_THAT(details.place, HasSubstr(registry_.host() + "/app"));
  EXPECT_EQ(details.access, "");
  EXPECT_FALSE(lines_.empty());
}

TEST_F(ImageAskerTest, OneImageIsItsOnlyVariant) {
  const std::string digest = PutImage("1", "s390x", 300);
  ImageDetails details = Ask("app:1");
  EXPECT_EQ(PlatformsOf(details), "linux/s390x");
  ASSERT_EQ(details.variants.size(), 1u);
  EXPECT_EQ(details.variants[0].bytes, 300u);
  EXPECT_EQ(details.variants[0].digest, digest);
}

TEST_F(ImageAskerTest, NamesTheCredential) {
  PutImage("1", "arm64", 1);
  registry_.RequireBasic("ann", "secret");
  ImageDetails details =
      Ask("app:1", /*sizes=*/true, inspection::NewKeyring(registry_.host(), "ann", "secret"));
  EXPECT_EQ(details.error, "");
  EXPECT_THAT(details.access, HasSubstr("ns/ann"));
  for (const std::string& line : lines_) EXPECT_THAT(line, ::testing::Not(HasSubstr("secret")));

  details = Ask("app:2", /*sizes=*/true, inspection::NewKeyring(registry_.host(), "ann", "other"));
  EXPECT_THAT(details.error, HasSubstr("401"));
}

TEST_F(ImageAskerTest, AnIndexWithoutEndCostsALimitedNumberOfRequests) {
  std::string entries;
  for (int i = 0; i < 300; ++i)
    entries += (i == 0 ? "" : ",") + Entry(PutImage("", "arm64", i), "arm64");
  PutIndex("1", entries);
  ImageDetails details = Ask("app:1");
  EXPECT_EQ(details.error, "");
  EXPECT_LT(registry_.Count("manifests/"), 70);
  EXPECT_LT(details.variants.size(), 70u);
}

TEST_F(ImageAskerTest, ProgramsAreReadOnlyIfAskedFor) {
  auto layer = [](const std::string& elf) {
    return exec_format::Gzip(exec_format::LayerMaker().File("app", elf).Make());
  };
  const std::string amd64 = exec_format::MakeElf({});
  exec_format::PutIndexOf(registry_, "app",
                          {{.architecture = "amd64", .layers = {layer(amd64)}},
                           {.architecture = "arm64", .layers = {layer(amd64)}}},
                          "1");
  PutIndex("0", Entry(PutImage("", "amd64", 100), "amd64") + "," +
                    Entry(PutImage("", "arm64", 1), "arm64"));
  Ask("app:0");
  EXPECT_EQ(registry_.Count("blobs/"), 0);

  ImageDetails details = *kube::Run(
      io_,
      asker_.Ask({.image = registry_.host() + "/app:1", .sizes = true, .read_more = ReadPrograms}));
  EXPECT_EQ(details.error, "");
  EXPECT_EQ(registry_.Count("blobs/"), 4);  // two configs, two layers
  ASSERT_EQ(details.variants.size(), 2u);
  EXPECT_EQ(RowOf(*details.variants[0].program, {"linux", "amd64"}).finding, "");
  EXPECT_THAT(RowOf(*details.variants[1].program, {"linux", "arm64"}).finding,
              HasSubstr("does not run on arm64"));

  // An only image names its platform in its config; a broken layer is an answer.
  exec_format::PutImage(registry_, "app", {.architecture = "arm64", .layers = {layer(amd64)}}, "2");
  exec_format::PutImage(registry_, "app", {.layers = {"no layer"}}, "3");
  details = *kube::Run(
      io_,
      asker_.Ask({.image = registry_.host() + "/app:2", .sizes = true, .read_more = ReadPrograms}));
  EXPECT_THAT(Say(details), HasSubstr("linux/arm64   /app      amd64"));
  details = *kube::Run(
      io_,
      asker_.Ask({.image = registry_.host() + "/app:3", .sizes = true, .read_more = ReadPrograms}));
  EXPECT_EQ(details.error, "");
  EXPECT_THAT(Say(details), HasSubstr("not valid tar"));
}

TEST_F(ImageAskerTest, WithoutSizesIsOneRequest) {
  PutIndex("1", Entry(PutImage("", "amd64", 100), "amd64") + "," +
                    Entry(PutImage("", "arm64", 1), "arm64"));
  registry_.ClearLog();
  ImageDetails details = Ask("app:1", /*sizes=*/false);
  EXPECT_EQ(PlatformsOf(details), "linux/amd64 linux/arm64");
  EXPECT_EQ(registry_.Count("manifests/"), 1);
}

}  // namespace
}  // namespace plugin
