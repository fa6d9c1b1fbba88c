// SPDX-License-Identifier: Apache-2.0
// FrameReader: splits the bytes of a watch into frames.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

class FrameReader {
 public:
  enum class Format {
    kLengthPrefixed,  // protobuf: a big-endian length of four bytes before each frame
    kLines,           // JSON: one document per line
  };

  FrameReader(Format format, size_t max_frame) : format_(format), max_frame_(max_frame) {}

  void Append(std::string_view bytes);
  // The next complete frame; nullopt if more bytes are needed. Errors: kInvalid for a frame larger
  // than the limit.
  Result<std::optional<std::string>> Next();
  // True if no part of a frame is buffered.
  bool empty() const { return at_ == bytes_.size(); }

 private:
  Result<std::optional<std::string>> NextLengthPrefixed();
  Result<std::optional<std::string>> NextLine();
  Error TooLarge() const;

  Format format_;
  size_t max_frame_;
  std::string bytes_;
  size_t at_ = 0;       // start of the next frame
  size_t scanned_ = 0;  // there is no line end before this
};

}  // namespace kube
