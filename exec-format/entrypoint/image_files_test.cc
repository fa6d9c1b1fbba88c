// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "exec-format/testing/image_maker.h"
#include "exec-format/testing/make_elf.h"
#include "exec-format/testing/make_layer.h"
#include "inspection/base/digest.h"
#include "inspection/testing/fake_registry.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace exec_format {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Fault = inspection::FakeRegistry::Fault;

// Does not compress.
std::string Noise(size_t size) {
  std::string noise;
  uint64_t state = 88172645463325252u;
  while (noise.size() < size) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    noise.append(reinterpret_cast<const char*>(&state), sizeof state);
  }
  return noise;
}

const std::string kArm64 = MakeElf({.machine = EM_AARCH64, .alignment = 65536});
const std::string kAmd64 = MakeElf({.machine = EM_X86_64});

class ImageFilesTest : public inspection::RegistryFixture {
 protected:
  ImageFilesTest() {
    inspection::RegistryClientOptions options;
    options.fetch.backoff = 1ms;
    options.breaker = {.first_probe = 0ms, .probe_interval = 0ms};
    client_.emplace(io_.get_executor(), kube::RealClock(), options);
  }
  Result<ImageFile> Read(const std::string& digest, const std::string& architecture = "amd64",
                         FileQuestion question = {}, kube::Duration timeout = 20s) {
    const inspection::Repository repository{{registry_.host(), "app", true, "test"}, {}};
    return kube::Run(
        io_, ReadImageFile(*client_, repository, digest, {"linux", architecture},
                           std::move(question), limits_, kube::RealClock().Now() + timeout));
  }
  // Of an image with these layers, from the bottom up: "/path arm64", or the outcome.
  std::string Find(std::vector<std::string> layers,
                   const std::string& config = R"({"Entrypoint":["/app"]})",
                   FileQuestion question = {}) {
    const std::string digest =
        PutImage(registry_, "app", {.config = config, .layers = std::move(layers)});
    Result<ImageFile> file = Read(digest, "amd64", std::move(question));
    if (!file) return file.error().ToString();
    if (file->outcome != FileOutcome::kFound)
      return std::string(Describe(file->outcome)) + ": " + file->about;
    return file->program().path + " " + file->program().format.elf.architecture;
  }
  static std::string Layer(const LayerMaker& maker) { return Gzip(maker.Make()); }

  ImageFileLimits limits_;
  std::optional<inspection::RegistryClient> client_;
};

TEST_F(ImageFilesTest, EachPlatformOfAnIndexHasItsOwn) {
  const std::string digest =
      PutIndexOf(registry_, "app",
                 {{.architecture = "amd64", .layers = {Layer(LayerMaker().File("app", kAmd64))}},
                  // A build that copied the wrong program.
                  {.architecture = "arm64", .layers = {Layer(LayerMaker().File("app", kAmd64))}},
                  {.architecture = "ppc64le",
                   .config = R"({"Cmd":["/run"]})",
                   .layers = {Layer(LayerMaker().File("run", MakeElf({.machine = EM_PPC64})))}}});
  Result<ImageFile> file = Read(digest, "amd64");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(RunsOn(file->program().format, "amd64"), RunVerdict::kYes);
  file = Read(digest, "arm64");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->program().path, "/app");
  EXPECT_EQ(RunsOn(file->program().format, "arm64"), RunVerdict::kNo);
  file = Read(digest, "ppc64le");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->program().path, "/run");
  EXPECT_EQ(file->program().format.elf.page_alignment, 4096u);
  EXPECT_THAT(Read(digest, "s390x"), FailsWith(Code::kNotFound));
}

TEST_F(ImageFilesTest, OnlyTheLayersThatDecideAreRead) {
  const std::string bottom = Layer(LayerMaker().File("data", Noise(1u << 20)));
  const std::string top = Layer(LayerMaker().File("app", kAmd64));
  const std::string digest = PutImage(registry_, "app", {.layers = {bottom, top}});
  Result<ImageFile> file = Read(digest);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->layers_read, 1u);
  EXPECT_EQ(file->bytes_read, top.size());
  EXPECT_EQ(file->program().layer, inspection::Sha256Digest(top));
  EXPECT_EQ(file->manifest, digest);
  EXPECT_EQ(registry_.Count("/blobs/"), 2);  // the config and the layer
}

TEST_F(ImageFilesTest, LayersOfEveryCompression) {
  const std::string tar = LayerMaker().File("app", kArm64).Make();
  EXPECT_EQ(Find({tar}), "/app arm64");
  EXPECT_EQ(Find({Gzip(tar)}), "/app arm64");
  EXPECT_EQ(Find({Zstd(tar)}), "/app arm64");
}

TEST_F(ImageFilesTest, LargeLayersComeInRanges) {
  const std::string layer = Layer(LayerMaker().File("noise", Noise(9u << 20)).File("app", kArm64));
  const std::string digest = PutImage(registry_, "app", {.layers = {layer}});
  for (bool ranges : {true, false}) {
    if (!ranges) registry_.IgnoreRanges();
    const size_t before = kube::HeapInUse();
    Result<ImageFile> file = Read(digest);
    ASSERT_THAT(file, IsOk());
    EXPECT_EQ(file->bytes_read, layer.size());
    EXPECT_EQ(file->program().format.elf.architecture, "arm64");
    EXPECT_LT(kube::HeapInUse(), before + (1u << 20));
  }
}

TEST_F(ImageFilesTest, ScriptsLeadToTheirInterpreters) {
  const std::string base = Layer(LayerMaker()
                                     .Directory("usr/bin/")
                                     .File("usr/bin/dash", kArm64)
                                     .Symlink("usr/bin/sh", "dash")
                                     .Symlink("bin", "usr/bin")
                                     .File("usr/bin/text", "no program")
                                     .File("usr/bin/loop", "#!/bin/loop\n"));
  auto app = [&](const std::string& content) {
    return Find({base, Layer(LayerMaker().File("app", content))});
  };
  EXPECT_EQ(app("#!/bin/sh -e\nexec x\n"), "/usr/bin/dash arm64");
  EXPECT_EQ(app("#!bin/sh\n"), "/usr/bin/dash arm64");
  EXPECT_EQ(app("#!/bin/text\n"), "/usr/bin/text ");
  EXPECT_EQ(app("#!/bin/sh\r\n"), "not found in any layer: /bin/sh\r");
  EXPECT_EQ(app("#!/bin/loop\n"), "too many interpreters of interpreters: /bin/loop");
  EXPECT_EQ(app("#!/bin\n"), "not an executable file: /bin");

  Result<ImageFile> file = Read(PutImage(
      registry_, "app", {.layers = {base, Layer(LayerMaker().File("app", "#!/bin/sh\n"))}}));
  ASSERT_THAT(file, IsOk());
  ASSERT_THAT(file->files, SizeIs(2));
  EXPECT_EQ(file->files[0].path, "/app");
  EXPECT_EQ(file->files[0].format.kind, BinaryFormat::Kind::kScript);
}

TEST_F(ImageFilesTest, NamesAreSearchedInPath) {
  const std::string base =
      Layer(LayerMaker().File("usr/bin/app", kAmd64).File("usr/local/bin/text", "text", 0644));
  const std::string top =
      Layer(LayerMaker().File("usr/local/bin/app", kArm64).File("bin/text", kArm64));
  EXPECT_EQ(Find({base, top}, R"({"Cmd":["app"]})"), "/usr/local/bin/app arm64");
  EXPECT_EQ(Find({base, top}, R"({"Cmd":["app"],"Env":["PATH=/usr/bin:/usr/local/bin"]})"),
            "/usr/bin/app amd64");
  // A file that is not executable is passed over.
  EXPECT_EQ(Find({base, top}, R"({"Cmd":["text"]})"), "/bin/text arm64");
  EXPECT_EQ(Find({base, top}, R"({"Cmd":["none"]})"), "not found in any layer: none");
  EXPECT_EQ(Find({base}, R"({"Cmd":["text"]})"), "not an executable file: /usr/local/bin/text");
  EXPECT_EQ(Find({base}, "{}"), "no command: the image names no command");
  EXPECT_EQ(Find({base}, "{}", {.container = {.command = {"/usr/bin/app"}}}), "/usr/bin/app amd64");
  EXPECT_EQ(Find({base}, "{}", {.path = "/usr/local/bin/text"}), "/usr/local/bin/text ");
}

TEST_F(ImageFilesTest, LayersAboveHideAndReplace) {
  const std::string app = Layer(LayerMaker().File("app", kArm64));
  EXPECT_EQ(Find({app, Layer(LayerMaker().File(".wh.app", ""))}), "removed by a layer above: /app");
  EXPECT_EQ(Find({app, Layer(LayerMaker().File(".wh..wh..opq", ""))}),
            "removed by a layer above: /app");
  EXPECT_EQ(Find({app, Layer(LayerMaker().File("app", kAmd64))}), "/app amd64");
  EXPECT_EQ(Find({Layer(LayerMaker().File("app", kAmd64).File("./app", kArm64))}), "/app arm64");
  EXPECT_EQ(
      Find({app, Layer(LayerMaker().Symlink("run", "../../app"))}, R"({"Entrypoint":["/run"]})"),
      "/app arm64");
  EXPECT_EQ(Find({Layer(LayerMaker().Symlink("app", "app"))}),
            "too many symbolic links or folders: /app");
  EXPECT_EQ(Find({}), "not found in any layer: /app");
}

TEST_F(ImageFilesTest, LayersOfOtherTypesAreNotRead) {
  const std::string layer = Layer(LayerMaker().File("app", kArm64));
  for (const char* type : {"application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
                           "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"}) {
    registry_.ClearLog();
    Result<ImageFile> file =
        Read(PutImage(registry_, "app", {.layers = {layer}, .layer_type = type}));
    ASSERT_THAT(file, IsOk());
    EXPECT_EQ(file->outcome, FileOutcome::kUnsupportedLayer);
    EXPECT_EQ(file->about, inspection::Sha256Digest(layer));
    EXPECT_EQ(registry_.Count("/blobs/"), 1);  // the config
  }
}

TEST_F(ImageFilesTest, BytesAreLimited) {
  const std::string layer = Layer(LayerMaker().File("noise", Noise(100'000)));
  const std::string app = Layer(LayerMaker().File("app", kArm64));
  limits_ = {.layer_bytes = 50'000, .image_bytes = 1u << 20};
  EXPECT_THAT(Find({app, layer}), HasSubstr("not read: the layer is too large: sha256:"));
  EXPECT_EQ(Find({layer, app}), "/app arm64");
  limits_ = {.layer_bytes = 1u << 20, .image_bytes = 150'000};
  EXPECT_THAT(Find({app, layer}), HasSubstr("/app arm64"));
  EXPECT_THAT(Find({app, Layer(LayerMaker().File("other", Noise(100'001))), layer}),
              HasSubstr("too large"));
}

TEST_F(ImageFilesTest, HostileLayers) {
  // A bomb of 2 GiB, in many members.
  std::string bomb, member = Gzip(std::string(64u << 20, '\0'));
  for (int i = 0; i < 32; ++i) bomb += member;
  EXPECT_THAT(Find({Gzip(LayerMaker().File("zeros", "").tar() +
                         TarHeader("big", '0', "", uint64_t{1} << 33, 0644)) +
                    bomb}),
              HasSubstr("more than 200 times its compressed size"));
  EXPECT_THAT(Find({"no layer at all"}), HasSubstr("not valid tar"));
  const std::string layer = Layer(LayerMaker().File("app", Noise(100'000)));
  EXPECT_THAT(Find({layer.substr(0, 50'000)}), HasSubstr("ends in the middle"));
  EXPECT_THAT(Find({layer + "x"}), HasSubstr("Invalid"));

  LayerMaker many;
  for (int i = 0; i < 100'000; ++i) many.Raw(TarHeader("f" + std::to_string(i), '0', "", 0, 0644));
  many.File("app", kArm64);
  EXPECT_EQ(Find({Layer(many)}), "/app arm64");
  for (int i = 0; i < 100'001; ++i) many.Raw(TarHeader("f" + std::to_string(i), '0', "", 0, 0644));
  EXPECT_THAT(Find({Layer(many)}), HasSubstr("more than 200000 files"));
}

TEST_F(ImageFilesTest, HostileRegistries) {
  const std::string layer = Layer(LayerMaker().File("app", kArm64).File("n", Noise(300'000)));
  const std::string digest = PutImage(registry_, "app", {.layers = {layer}});
  const std::string blob = inspection::Sha256Digest(layer);
  auto with = [&](Fault fault, int times = 1'000'000) {
    registry_.ClearFaults();
    registry_.InjectFault(blob, fault, times);
    return Read(digest, "amd64", {}, 3s);
  };
  EXPECT_THAT(with(Fault::kEndlessBody), FailsWith(Code::kInvalid));
  EXPECT_THAT(with(Fault::kOtherRange), FailsWith(Code::kInvalid, HasSubstr("another range")));
  EXPECT_THAT(with(Fault::kStalledBody), FailsWith(Code::kInvalid));  // spaces are no layer
  EXPECT_THAT(with(Fault::kSilent), FailsWith(Code::kDeadlineExceeded));
  EXPECT_THAT(with(Fault::kBroken), FailsWith(Code::kUnavailable));
  EXPECT_THAT(with(Fault::kReset), FailsWith(Code::kUnavailable));
  EXPECT_THAT(with(Fault::kShortBody, 2), IsOk());
  EXPECT_THAT(with(Fault::kThrottled, 1), IsOk());
  registry_.ClearFaults();

  // Another layer than the digest's, of the same size and valid.
  std::string other = LayerMaker().File("app", kAmd64).Make();
  const std::string honest = LayerMaker().File("app", kArm64).Make();
  ASSERT_EQ(other.size(), honest.size());
  const std::string image = PutImage(registry_, "app", {.layers = {honest}});
  registry_.Redirect(inspection::Sha256Digest(honest),
                     registry_.url() + "/v2/app/blobs/" + registry_.PutBlob(other));
  EXPECT_THAT(Read(image), FailsWith(Code::kInvalid, HasSubstr("content is")));
}

TEST_F(ImageFilesTest, IndexesInIndexes) {
  const std::string image =
      PutIndexOf(registry_, "app",
                 {{.architecture = "arm64", .layers = {Layer(LayerMaker().File("app", kArm64))}}});
  auto outer = [&](const std::string& inner) {
    return registry_.PutManifest(
        "app", "",
        R"({"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":")" +
            inner + R"("}]})",
        inspection::kOciIndex);
  };
  const std::string two = outer(image);
  EXPECT_THAT(Read(two, "arm64"), IsOk());
  EXPECT_THAT(Read(outer(outer(two)), "arm64"), FailsWith(Code::kNotFound));
}

}  // namespace
}  // namespace exec_format
