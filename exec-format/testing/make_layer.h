// SPDX-License-Identifier: Apache-2.0
// LayerMaker: layers for tests, honest and hostile.
//
//   std::string layer = Gzip(LayerMaker().Directory("bin/").File("bin/sh", MakeElf({})).Make());
#pragma once

#include <cstdint>
#include <string>

namespace exec_format {

class LayerMaker {
 public:
  LayerMaker& Directory(const std::string& path) { return Entry(path, '5', "", "", 0755); }
  LayerMaker& File(const std::string& path, const std::string& content, int mode = 0755) {
    return Entry(path, '0', "", content, mode);
  }
  LayerMaker& Symlink(const std::string& path, const std::string& target) {
    return Entry(path, '2', target, "", 0777);
  }
  LayerMaker& HardLink(const std::string& path, const std::string& target) {
    return Entry(path, '1', target, "", 0755);
  }
  // A ustar header with its content. Longer names get a pax header.
  LayerMaker& Entry(const std::string& path, char type, const std::string& target,
                    const std::string& content, int mode);
  LayerMaker& Raw(const std::string& bytes) {
    tar_ += bytes;
    return *this;
  }

  // With the blocks that end a tar file.
  std::string Make() const { return tar_ + std::string(1024, '\0'); }
  // Without.
  const std::string& tar() const { return tar_; }

 private:
  std::string tar_;
};

// The header of an entry that says it has `size` bytes, with a correct checksum.
std::string TarHeader(const std::string& path, char type, const std::string& target, uint64_t size,
                      int mode);

std::string Gzip(const std::string& bytes);
// `window_bits`: 0 for the level's own.
std::string Zstd(const std::string& bytes, int window_bits = 0);

}  // namespace exec_format
