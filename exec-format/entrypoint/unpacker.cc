// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/unpacker.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace exec_format {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

constexpr size_t kPieceBytes = 64u << 10;
constexpr size_t kMagicBytes = 4;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

// A frame of zstd that decoders skip: 0x184D2A50 to 0x184D2A5F, little endian.
bool IsSkippableFrame(std::string_view bytes) {
  return bytes.size() >= kMagicBytes && (static_cast<unsigned char>(bytes[0]) & 0xf0) == 0x50 &&
         bytes.substr(1, 3) == "\x2a\x4d\x18";
}

}  // namespace

struct Unpacker::State {
  enum class Format { kUnknown, kPlain, kGzip, kZstd };

  State(Sink to, uint64_t limit) : sink(std::move(to)), max_bytes(limit) {}
  ~State() {
    if (has_zlib) inflateEnd(&zlib);
    if (zstd != nullptr) ZSTD_freeDCtx(zstd);
  }

  Result<> Emit(std::string_view bytes) {
    if (bytes.empty()) return Ok();
    unpacked += bytes.size();
    if (unpacked > max_bytes)
      return Error::Invalid("the layer has more than " + std::to_string(max_bytes >> 20) +
                            " MiB unpacked");
    if (unpacked > kFirstBytes + packed * kMaxRatio)
      return Error::Invalid("the layer has more than " + std::to_string(kMaxRatio) +
                            " times its compressed size");
    return sink(bytes);
  }

  Result<> Begin() {
    if (begun.starts_with(kGzipMagic)) {
      format = Format::kGzip;
      constexpr int kGzipOnly = 16;
      if (inflateInit2(&zlib, MAX_WBITS + kGzipOnly) != Z_OK) return Error::Internal("zlib");
      has_zlib = true;
    } else if (begun.starts_with(kZstdMagic) || IsSkippableFrame(begun)) {
      format = Format::kZstd;
      zstd = ZSTD_createDCtx();
      if (zstd == nullptr) return Error::Internal("zstd");
      ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, kMaxZstdWindowBits);
    } else {
      format = Format::kPlain;
    }
    if (format != Format::kPlain) piece.resize(kPieceBytes);
    return Ok();
  }

  Result<> Inflate(std::string_view packed) {
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    zlib.avail_in = static_cast<uInt>(packed.size());
    while (true) {
      if (at_boundary) {
        if (zlib.avail_in == 0) return Ok();
        at_boundary = false;
        if (inflateReset(&zlib) != Z_OK) return Error::Internal("zlib");
      }
      zlib.next_out = reinterpret_cast<Bytef*>(piece.data());
      zlib.avail_out = static_cast<uInt>(piece.size());
      const int status = inflate(&zlib, Z_NO_FLUSH);
      const size_t made = piece.size() - zlib.avail_out;
      Result<> emitted = Emit(std::string_view(piece).substr(0, made));
      if (!emitted) return emitted;
      if (status == Z_STREAM_END) {
        at_boundary = true;
        continue;
      }
      // No progress is possible without more bytes.
      if (status == Z_BUF_ERROR) return Ok();
      if (status != Z_OK) return Error::Invalid("the layer is not valid gzip");
      if (zlib.avail_in == 0 && zlib.avail_out > 0) return Ok();
    }
  }

  Result<> Decompress(std::string_view packed) {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    while (true) {
      ZSTD_outBuffer out{piece.data(), piece.size(), 0};
      const size_t before = in.pos;
      const size_t left = ZSTD_decompressStream(zstd, &out, &in);
      if (ZSTD_isError(left))
        return Error::Invalid(std::string("the layer is not zstd that can be read: ") +
                              ZSTD_getErrorName(left));
      // Without progress, the result is about a next frame.
      if (in.pos != before || out.pos > 0) at_boundary = left == 0;
      Result<> emitted = Emit(std::string_view(piece).substr(0, out.pos));
      if (!emitted) return emitted;
      const bool has_more = out.pos == out.size;
      if (in.pos == in.size && !has_more) return Ok();
      if (in.pos == before && out.pos == 0) return Error::Invalid("the layer is not valid zstd");
    }
  }

  Result<> Unpack(std::string_view packed) {
    switch (format) {
      case Format::kGzip:
        return Inflate(packed);
      case Format::kZstd:
        return Decompress(packed);
      case Format::kPlain:
      case Format::kUnknown:
        break;
    }
    while (!packed.empty()) {
      Result<> emitted = Emit(packed.substr(0, kPieceBytes));
      if (!emitted) return emitted;
      packed.remove_prefix(std::min(packed.size(), kPieceBytes));
    }
    return Ok();
  }

  Sink sink;
  uint64_t max_bytes;
  uint64_t packed = 0;
  uint64_t unpacked = 0;
  Format format = Format::kUnknown;
  std::string begun;  // the first bytes, until the format is known
  std::string piece;
  // Between two members or frames, or at the end.
  bool at_boundary = false;
  z_stream zlib = {};
  bool has_zlib = false;
  ZSTD_DCtx* zstd = nullptr;
};

Unpacker::Unpacker(Sink sink, uint64_t max_bytes)
    : state_(std::make_unique<State>(std::move(sink), max_bytes)) {}
Unpacker::~Unpacker() = default;

Result<> Unpacker::Push(std::string_view packed) {
  if (packed.empty()) return Ok();
  state_->packed += packed.size();
  if (state_->format != State::Format::kUnknown) return state_->Unpack(packed);
  state_->begun += packed;
  if (state_->begun.size() < kMagicBytes) return Ok();
  Result<> begun = state_->Begin();
  if (!begun) return begun;
  const std::string first = std::exchange(state_->begun, {});
  return state_->Unpack(first);
}

Result<> Unpacker::Finish() {
  if (state_->format == State::Format::kUnknown) {
    if (state_->begun.empty()) return Ok();
    return Error::Invalid("the layer ends after its first bytes");
  }
  const bool may_end = state_->format == State::Format::kPlain || state_->at_boundary;
  return may_end ? Ok() : Result<>(Error::Invalid("the layer ends in the middle"));
}

uint64_t Unpacker::unpacked_bytes() const { return state_->unpacked; }

}  // namespace exec_format
