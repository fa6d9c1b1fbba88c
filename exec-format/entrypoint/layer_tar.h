// SPDX-License-Identifier: Apache-2.0
// LayerTar: the entries of a layer, while its bytes arrive.
//
//   LayerTar layer([&](const LayerEntry& entry) { return tree.Add(entry); });
//   Result<> pushed = layer.Push(bytes);   // compressed, any number of them
//   Result<> ended = layer.Finish();
//
// Every entry is reported, not only some paths: which paths matter is known when the links of all
// layers are. Of a file, the first 64 KiB are read, and only their format is kept. The layer is
// hostile: memory, unpacked bytes, and the bytes of one header are bounded here; the receiver
// bounds the number of entries. libarchive reads the tar format (pax, GNU, ustar, v7, sparse
// files); zlib and zstd are called without it, as it sets no limit for zstd's window. Thread: one;
// a thread of libarchive runs only while Push() waits for it (pull_thread.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "exec-format/binary/binary_format.h"
#include "exec-format/entrypoint/unpacker.h"
#include "kube/base/error.h"

namespace exec_format {

// Longer paths and link targets are not possible in Linux (PATH_MAX): such entries are skipped.
inline constexpr size_t kMaxPathBytes = 4096;
// Of the headers of one entry, with its extended ones and its map of a sparse file.
inline constexpr size_t kMaxEntryHeaderBytes = 256u << 10;

struct LayerEntry {
  enum class Kind { kDirectory, kFile, kSymlink, kHardLink, kOther };
  Kind kind = Kind::kOther;
  // "usr/bin/sh": without "/" at its ends, "." and ".."; "" is the root. An entry "../x" is "x", as
  // container runtimes unpack it.
  std::string path;
  // kSymlink: as it is in the layer. kHardLink: a path as `path`.
  std::string target;
  bool executable = false;  // kFile: for anybody
  BinaryFormat format;      // kFile
};

class LayerTar {
 public:
  // Called while Push() or Finish() runs. An error ends the call with it.
  using OnEntry = std::function<kube::Result<>(const LayerEntry&)>;

  explicit LayerTar(OnEntry on_entry, uint64_t max_unpacked = kMaxUnpackedBytes);
  ~LayerTar();

  // Errors: kInvalid for what is not a layer or exceeds a limit; kUnavailable if the system has no
  // thread; those of `on_entry`. After an error, no other call.
  kube::Result<> Push(std::string_view packed);
  // After the last byte. kInvalid if the layer ends too early.
  kube::Result<> Finish();

  uint64_t unpacked_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "./usr//bin/../lib/" -> "usr/lib"; ".." at the root is the root.
std::string CleanPath(std::string_view path);

}  // namespace exec_format
