// SPDX-License-Identifier: Apache-2.0
#include "kube/client/frame_reader.h"

#include <gtest/gtest.h>

#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"

namespace kube {
namespace {

using Format = FrameReader::Format;

std::string Prefixed(const std::string& frame) {
  std::string bytes;
  for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(frame.size() >> shift & 0xff);
  return bytes + frame;
}

std::vector<std::string> Read(FrameReader& reader) {
  std::vector<std::string> frames;
  while (true) {
    Result<std::optional<std::string>> frame = reader.Next();
    EXPECT_THAT(frame, IsOk());
    if (!frame || !*frame) return frames;
    frames.push_back(std::move(**frame));
  }
}

TEST(FrameReaderTest, FramesDoNotDependOnChunks) {
  std::string large(100'000, 'l');
  const std::vector<std::string> wanted{"one", "", large, std::string("\0\n", 2), "five"};
  std::string bytes;
  for (const std::string& frame : wanted) bytes += Prefixed(frame);
  for (size_t step : {size_t{1}, size_t{3}, size_t{4096}, bytes.size()}) {
    FrameReader reader(Format::kLengthPrefixed, 1 << 20);
    std::vector<std::string> frames;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.Append(std::string_view(bytes).substr(at, step));
      for (std::string& frame : Read(reader)) frames.push_back(std::move(frame));
    }
    EXPECT_EQ(frames, wanted) << step;
    EXPECT_TRUE(reader.empty());
  }
}

TEST(FrameReaderTest, LinesDoNotDependOnChunks) {
  const std::string bytes = "{\"a\":1}\n{\"b\":2}\n\n{\"c\":3}\n";
  for (size_t step : {size_t{1}, size_t{5}, bytes.size()}) {
    FrameReader reader(Format::kLines, 100);
    std::vector<std::string> frames;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.Append(std::string_view(bytes).substr(at, step));
      for (std::string& frame : Read(reader)) frames.push_back(std::move(frame));
    }
    EXPECT_EQ(frames, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"})) << step;
    EXPECT_TRUE(reader.empty());
  }
}

TEST(FrameReaderTest, AnIncompleteFrameIsNotEmpty) {
  FrameReader reader(Format::kLengthPrefixed, 100);
  reader.Append(std::string_view("\0\0", 2));
  EXPECT_TRUE(Read(reader).empty());
  EXPECT_FALSE(reader.empty());
}

TEST(FrameReaderTest, TooLargeFramesAreInvalidBeforeTheirLastByte) {
  FrameReader prefixed(Format::kLengthPrefixed, 100);
  prefixed.Append("\xff\xff\xff\xff");
  EXPECT_THAT(prefixed.Next(), FailsWith(Code::kInvalid));
  FrameReader lines(Format::kLines, 100);
  lines.Append(std::string(101, 'x'));
  EXPECT_THAT(lines.Next(), FailsWith(Code::kInvalid));
}

TEST(FrameReaderTest, TheBufferOfALargeFrameIsFreed) {
  if (!kHeapIsMeasured) GTEST_SKIP() << "the heap is not measured";
  constexpr size_t kLarge = 1 << 20;
  for (Format format : {Format::kLengthPrefixed, Format::kLines}) {
    FrameReader reader(format, 2 * kLarge);
    const size_t before = HeapInUse();
    {
      const std::string large(kLarge, 'l');
      reader.Append(format == Format::kLines ? large + "\n" : Prefixed(large));
      EXPECT_EQ(Read(reader), std::vector<std::string>{large});
    }
    EXPECT_LT(HeapInUse(), before + kLarge / 2);
  }
}

}  // namespace
}  // namespace kube
