// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/layer_tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exec-format/testing/make_elf.h"
#include "exec-format/testing/make_layer.h"
#include "kube/testing/matchers.h"

namespace exec_format {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Kind = LayerEntry::Kind;

struct ReadLayer {
  Result<> result = kube::Ok();
  std::vector<LayerEntry> entries;
};
ReadLayer Read(const std::string& packed, size_t step = 16 << 10) {
  ReadLayer layer;
  LayerTar tar([&](const LayerEntry& entry) {
    layer.entries.push_back(entry);
    return kube::Ok();
  });
  for (size_t at = 0; at < packed.size() && layer.result; at += step)
    layer.result = tar.Push(std::string_view(packed).substr(at, step));
  if (layer.result) layer.result = tar.Finish();
  return layer;
}
std::vector<std::string> PathsOf(const ReadLayer& layer) {
  std::vector<std::string> paths;
  for (const LayerEntry& entry : layer.entries) paths.push_back(entry.path);
  return paths;
}

TEST(LayerTarTest, EntriesInPiecesOfAnySize) {
  const std::string tar = LayerMaker()
                              .Directory("./bin/")
                              .File("./bin/sh", MakeElf({}))
                              .File("etc/motd", "hello", 0644)
                              .Symlink("bin/bash", "/bin/sh")
                              .HardLink("bin/dash", "./bin/sh")
                              .Entry("dev/null", '3', "", "", 0666)
                              .Make();
  for (const std::string& packed : {tar, Gzip(tar), Zstd(tar)}) {
    for (size_t step : {size_t{1}, size_t{511}, size_t{1} << 20}) {
      ReadLayer layer = Read(packed, step);
      ASSERT_THAT(layer.result, IsOk()) << step;
      ASSERT_THAT(PathsOf(layer),
                  ElementsAre("bin", "bin/sh", "etc/motd", "bin/bash", "bin/dash", "dev/null"));
      EXPECT_EQ(layer.entries[0].kind, Kind::kDirectory);
      EXPECT_EQ(layer.entries[1].kind, Kind::kFile);
      EXPECT_TRUE(layer.entries[1].executable);
      EXPECT_EQ(layer.entries[1].format.elf.architecture, "amd64");
      EXPECT_FALSE(layer.entries[2].executable);
      EXPECT_EQ(layer.entries[2].format.kind, BinaryFormat::Kind::kOther);
      EXPECT_EQ(layer.entries[3].kind, Kind::kSymlink);
      EXPECT_EQ(layer.entries[3].target, "/bin/sh");
      EXPECT_EQ(layer.entries[4].kind, Kind::kHardLink);
      EXPECT_EQ(layer.entries[4].target, "bin/sh");
      EXPECT_EQ(layer.entries[5].kind, Kind::kOther);
    }
  }
}

TEST(LayerTarTest, CleanPaths) {
  struct Row {
    const char* path;
    const char* clean;
  };
  for (const Row& row :
       {Row{"./a", "a"}, Row{"/a//b/", "a/b"}, Row{"../../a", "a"}, Row{".", ""},
        Row{"a/../../b", "b"}, Row{"a/./b/..", "a"}, Row{"...", "..."}, Row{"", ""}})
    EXPECT_EQ(CleanPath(row.path), row.clean) << row.path;
}

TEST(LayerTarTest, LongNames) {
  const std::string deep = std::string(200, 'd') + "/" + std::string(250, 'f');
  ReadLayer layer = Read(LayerMaker()
                             .File(deep, "x")
                             .Symlink("link", "/" + deep)
                             .File("big/" + std::string(5000, 'x'), "x")
                             .File("after", "x")
                             .Make());
  ASSERT_THAT(layer.result, IsOk());
  ASSERT_THAT(PathsOf(layer), ElementsAre(deep, "link", "after"));
  EXPECT_EQ(layer.entries[1].target, "/" + deep);
}

TEST(LayerTarTest, NamesThatAreNotAscii) {
  ReadLayer layer = Read(LayerMaker()
                             .File("caf\xc3\xa9", "x")
                             .File("\xff\xfe", "x")
                             .File(std::string(120, 'a') + "\xc3\xa9", "x")
                             .File("a", "x")
                             .Make());
  ASSERT_THAT(layer.result, IsOk());
  // libarchive converts names of pax headers, to what depends on the C library: on s390x under
  // qemu, a byte is lost. Such a file is then not found.
  EXPECT_THAT(PathsOf(layer),
              ElementsAre("caf\xc3\xa9", "\xff\xfe", StartsWith(std::string(120, 'a')), "a"));
}

TEST(LayerTarTest, LargeFilesCostNoMemory) {
  LayerMaker maker;
  maker.File("app", MakeElf({.machine = 183}) + std::string(3u << 20, 'x')).File("after", "x");
  ReadLayer layer = Read(Gzip(maker.Make()));
  ASSERT_THAT(layer.result, IsOk());
  ASSERT_THAT(layer.entries, SizeIs(2));
  EXPECT_EQ(layer.entries[0].format.elf.architecture, "arm64");
}

TEST(LayerTarTest, SparseFiles) {
  // GNU sparse 1.0: the map is in the first block of the content. One piece of 16 bytes at 1 TiB.
  std::string map = "1\n1099511627776\n16\n";
  map.resize(512, '\0');
  const std::string pax =
      "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
      "26 GNU.sparse.name=sparse\n"
      "37 GNU.sparse.realsize=1099511627792\n";
  std::string padded = pax;
  padded.resize(512, '\0');
  std::string content = map + std::string(16, 'x');
  const size_t size = content.size();
  content.resize(1024, '\0');
  ReadLayer layer = Read(LayerMaker()
                             .Raw(TarHeader("pax", 'x', "", pax.size(), 0644) + padded)
                             .Raw(TarHeader("GNUSparseFile.0/sparse", '0', "", size, 0755))
                             .Raw(content)
                             .File("after", "x")
                             .Make());
  ASSERT_THAT(layer.result, IsOk());
  EXPECT_THAT(PathsOf(layer), ElementsAre("sparse", "after"));
  EXPECT_EQ(layer.entries[0].format.kind, BinaryFormat::Kind::kEmpty);
}

TEST(LayerTarTest, WhatIsNoLayer) {
  EXPECT_THAT(Read("").result, IsOk());
  EXPECT_THAT(Read(std::string(10'240, '\0')).result, IsOk());
  EXPECT_THAT(Read("{\"not\": \"a layer\"}").result, FailsWith(Code::kInvalid));
  EXPECT_THAT(Read(Gzip(std::string(100'000, 'x'))).result, FailsWith(Code::kInvalid));
  const std::string tar = LayerMaker().File("a", std::string(10'000, 'x')).Make();
  EXPECT_THAT(Read(tar.substr(0, 4096)).result, FailsWith(Code::kInvalid));
  // Runtimes read a layer without the blocks at its end.
  ReadLayer layer = Read(LayerMaker().File("a", "x").tar());
  EXPECT_THAT(layer.result, IsOk());
  EXPECT_THAT(PathsOf(layer), ElementsAre("a"));
}

TEST(LayerTarTest, HeadersAreBounded) {
  // Headers that extend each other: libarchive calls itself for each.
  LayerMaker recursive;
  for (int i = 0; i < 100'000; ++i) recursive.Raw(TarHeader("x", 'x', "", 0, 0644));
  ReadLayer layer = Read(Gzip(recursive.Make()));
  EXPECT_THAT(layer.result, FailsWith(Code::kInvalid));
  EXPECT_THAT(layer.result.error().message(), HasSubstr("Too many special headers"));

  // A name of a megabyte, and one of a terabyte.
  for (uint64_t size : {uint64_t{1} << 20, uint64_t{1} << 33}) {
    LayerMaker name;
    name.Raw(TarHeader("././@LongLink", 'L', "", size, 0644)).Raw(std::string(2u << 20, 'n'));
    EXPECT_THAT(Read(Gzip(name.Make())).result, FailsWith(Code::kInvalid));
  }

  // A sparse map without an end.
  const std::string pax = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n";
  std::string padded = pax;
  padded.resize(512, '\0');
  std::string map = "1000000\n";
  while (map.size() < (4u << 20)) map += "1\n1\n";
  LayerMaker sparse;
  sparse.Raw(TarHeader("pax", 'x', "", pax.size(), 0644) + padded)
      .Raw(TarHeader("sparse", '0', "", map.size(), 0755))
      .Raw(map);
  EXPECT_THAT(Read(Gzip(sparse.Make())).result, FailsWith(Code::kInvalid));
}

TEST(LayerTarTest, TheReceiverEndsIt) {
  LayerMaker maker;
  for (int i = 0; i < 1000; ++i) maker.File("f" + std::to_string(i), "x");
  int seen = 0;
  LayerTar tar([&](const LayerEntry&) -> Result<> {
    if (++seen == 10) return kube::Error::Invalid("enough");
    return kube::Ok();
  });
  Result<> pushed = tar.Push(maker.Make());
  EXPECT_THAT(pushed, FailsWith(Code::kInvalid));
  EXPECT_EQ(pushed.error().message(), "enough");
  EXPECT_EQ(seen, 10);
}

TEST(LayerTarTest, MayBeDroppedAtAnyTime) {
  const std::string tar = LayerMaker().File("a", MakeElf({})).File("b", "x").Make();
  for (size_t size = 0; size < tar.size(); size += 100) {
    LayerTar layer([](const LayerEntry&) { return kube::Ok(); });
    EXPECT_THAT(layer.Push(std::string_view(tar).substr(0, size)), IsOk());
  }
}

TEST(LayerTarTest, EveryPrefixOfALayerEnds) {
  const std::string tar = LayerMaker()
                              .File(std::string(150, 'p'), MakeElf({}))
                              .Symlink("a", std::string(150, 't'))
                              .Make();
  for (size_t size = 0; size < tar.size(); size += 37) {
    ReadLayer layer = Read(tar.substr(0, size));
    EXPECT_TRUE(layer.result || kube::FailedWith(layer.result, Code::kInvalid)) << size;
  }
}

}  // namespace
}  // namespace exec_format
