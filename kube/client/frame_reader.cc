// SPDX-License-Identifier: Apache-2.0
#include "kube/client/frame_reader.h"

#include <algorithm>
#include <cstdint>

namespace kube {
namespace {

constexpr size_t kPrefix = 4;
// A larger buffer is freed after use. Most frames are smaller.
constexpr size_t kKeptCapacity = 8 * 1024;

}  // namespace

void FrameReader::Append(std::string_view bytes) {
  if (at_ > 0) {
    bytes_.erase(0, at_);
    scanned_ -= std::min(scanned_, at_);
    at_ = 0;
  }
  bytes_.append(bytes);
}

Error FrameReader::TooLarge() const {
  return Error::Invalid("watch frame larger than " + std::to_string(max_frame_) + " bytes");
}

Result<std::optional<std::string>> FrameReader::Next() {
  Result<std::optional<std::string>> frame =
      format_ == Format::kLines ? NextLine() : NextLengthPrefixed();
  if (empty() && bytes_.capacity() > kKeptCapacity) {
    // An assignment of an empty string keeps the capacity.
    std::string().swap(bytes_);
    at_ = scanned_ = 0;
  }
  return frame;
}

Result<std::optional<std::string>> FrameReader::NextLengthPrefixed() {
  if (bytes_.size() - at_ < kPrefix) return std::optional<std::string>();
  uint32_t size = 0;
  for (size_t i = 0; i < kPrefix; ++i)
    size = size << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
  if (size > max_frame_) return TooLarge();
  if (bytes_.size() - at_ - kPrefix < size) return std::optional<std::string>();
  std::optional<std::string> frame = bytes_.substr(at_ + kPrefix, size);
  at_ += kPrefix + size;
  return frame;
}

Result<std::optional<std::string>> FrameReader::NextLine() {
  while (true) {
    size_t end = bytes_.find('\n', std::max(scanned_, at_));
    if (end == std::string::npos) {
      scanned_ = bytes_.size();
      if (bytes_.size() - at_ > max_frame_) return TooLarge();
      return std::optional<std::string>();
    }
    size_t begin = at_;
    at_ = scanned_ = end + 1;
    if (end - begin > max_frame_) return TooLarge();
    if (end > begin) return std::optional<std::string>(bytes_.substr(begin, end - begin));
  }
}

}  // namespace kube
