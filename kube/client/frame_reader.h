// SPDX-License-Identifier: Apache-2.0
// FrameReader: the bytes of a watch cut into its frames.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

class FrameReader {
 public:
  enum class Format {
    kLengthPrefixed,  // protobuf: four bytes of length, big endian, then the frame
    kLines,           // JSON: one document a line
  };

  FrameReader(Format format, size_t max_frame) : format_(format), max_frame_(max_frame) {}

  void Append(std::string_view bytes);
  // The next whole frame; nullopt until more bytes come. kInvalid for a frame larger than allowed.
  Result<std::optional<std::string>> Next();
  // True between frames.
  bool empty() const { return at_ == bytes_.size(); }

 private:
  Result<std::optional<std::string>> NextLengthPrefixed();
  Result<std::optional<std::string>> NextLine();
  Error TooLarge() const;

  Format format_;
  size_t max_frame_;
  std::string bytes_;
  size_t at_ = 0;       // where the next frame begins
  size_t scanned_ = 0;  // no line ends before this
};

}  // namespace kube
