// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/unpacker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exec-format/testing/make_layer.h"
#include "kube/testing/matchers.h"

namespace exec_format {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using ::testing::HasSubstr;

std::string Text() {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i * 7919 % 10'007) + "\n";
  return text;
}

struct Unpacked {
  Result<> result = kube::Ok();
  std::string bytes;
};
Unpacked Unpack(const std::string& packed, size_t step, uint64_t limit = kMaxUnpackedBytes) {
  Unpacked unpacked;
  Unpacker unpacker(
      [&](std::string_view bytes) {
        EXPECT_LE(bytes.size(), 64u << 10);
        unpacked.bytes += bytes;
        return kube::Ok();
      },
      limit);
  for (size_t at = 0; at < packed.size() && unpacked.result; at += step)
    unpacked.result = unpacker.Push(std::string_view(packed).substr(at, step));
  if (unpacked.result) unpacked.result = unpacker.Finish();
  return unpacked;
}

TEST(UnpackerTest, FormatsInPiecesOfAnySize) {
  const std::string text = Text();
  const std::string skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  for (const std::string& packed :
       {text, Gzip(text), Zstd(text), Gzip(text.substr(0, 1000)) + Gzip(text.substr(1000)),
        Zstd(text.substr(0, 1000)) + skippable + Zstd(text.substr(1000)),
        skippable + Zstd(text) + skippable}) {
    for (size_t step : {size_t{1}, size_t{3}, size_t{4096}, packed.size()}) {
      Unpacked unpacked = Unpack(packed, step);
      ASSERT_THAT(unpacked.result, IsOk()) << step;
      EXPECT_TRUE(unpacked.bytes == text) << step;
    }
  }
  EXPECT_THAT(Unpack("", 1).result, IsOk());
}

TEST(UnpackerTest, LayersThatEndEarlyOrAreBroken) {
  const std::string text = Text();
  for (const std::string& packed : {Gzip(text), Zstd(text)}) {
    for (size_t size : {size_t{2}, size_t{5}, packed.size() / 2, packed.size() - 1})
      EXPECT_THAT(Unpack(packed.substr(0, size), 4096).result, FailsWith(Code::kInvalid)) << size;
    EXPECT_THAT(Unpack(packed + "garbage", 4096).result, FailsWith(Code::kInvalid));
  }
  std::string broken = Gzip(text);
  for (size_t i = 100; i < 300; ++i) broken[i] = static_cast<char>(broken[i] ^ 0x5a);
  EXPECT_THAT(Unpack(broken, 4096).result, FailsWith(Code::kInvalid));
}

TEST(UnpackerTest, Bombs) {
  const std::string zeros(8u << 20, '\0');
  for (const std::string& packed : {Gzip(zeros), Zstd(zeros)}) {
    EXPECT_LT(packed.size(), 100'000u);
    Unpacked unpacked = Unpack(packed, 4096, 1u << 20);
    EXPECT_THAT(unpacked.result, FailsWith(Code::kInvalid));
    EXPECT_THAT(unpacked.result.error().message(), HasSubstr("more than 1 MiB"));
    EXPECT_LE(unpacked.bytes.size(), 1u << 20);
  }
}

TEST(UnpackerTest, AWindowOfZstdIsMemory) {
  const std::string text = Text();
  EXPECT_THAT(Unpack(Zstd(text, 23), 4096).result, IsOk());
  Unpacked unpacked = Unpack(Zstd(text, 27), 4096);
  EXPECT_THAT(unpacked.result, FailsWith(Code::kInvalid));
  EXPECT_THAT(unpacked.result.error().message(), HasSubstr("memory"));
}

// The caller waits for one push: what it gets from 16 KiB is bounded.
TEST(UnpackerTest, ABombIsRefusedAtItsRatio) {
  for (const std::string& packed :
       {Gzip(std::string(64u << 20, '\0')), Zstd(std::string(64u << 20, '\0'))}) {
    Unpacked unpacked = Unpack(packed, 16u << 10);
    EXPECT_THAT(unpacked.result, FailsWith(Code::kInvalid, HasSubstr("200 times")));
    EXPECT_LE(unpacked.bytes.size(), kFirstBytes + packed.size() * kMaxRatio);
  }
  EXPECT_THAT(Unpack(Zstd(std::string(kFirstBytes, '\0')), 16u << 10).result, IsOk())
      << "a small file of zeros is usual";
}

}  // namespace
}  // namespace exec_format
