// SPDX-License-Identifier: Apache-2.0
// Unpacker: the bytes of a compressed layer, piece by piece, with bounded memory.
//
// gzip (several members, as eStargz has), zstd (several frames) and no compression are told by the
// first bytes, as container runtimes do; the media type is ignored. Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "kube/base/error.h"

namespace exec_format {

// Of a layer. A larger one is a decompression bomb, or nothing that this reader is for: layers have
// three to five times their compressed size.
inline constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 30;
// A layer may have as many times its compressed size, after the first bytes. So the caller of
// Push() never waits long for it: zstd packs zeros more than 10,000 times.
inline constexpr uint64_t kMaxRatio = 200;
inline constexpr uint64_t kFirstBytes = 8u << 20;
// The memory of zstd. Level 19 and the defaults of BuildKit need 8 MiB; RFC 8878 asks of decoders
// for no more.
inline constexpr int kMaxZstdWindowBits = 23;

class Unpacker {
 public:
  // Gets pieces of at most 64 KiB, while Push() runs. An error ends Push() with it.
  using Sink = std::function<kube::Result<>(std::string_view)>;

  explicit Unpacker(Sink sink, uint64_t max_bytes = kMaxUnpackedBytes);
  ~Unpacker();

  // Errors: kInvalid for data that is not of the format, too many bytes, also for its compressed
  // size, and a larger window; those of the sink. After an error, no other call.
  kube::Result<> Push(std::string_view packed);
  // After the last byte. kInvalid if the data ends too early.
  kube::Result<> Finish();

  uint64_t unpacked_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace exec_format
