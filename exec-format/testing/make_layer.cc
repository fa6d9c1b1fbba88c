// SPDX-License-Identifier: Apache-2.0
#include "exec-format/testing/make_layer.h"

#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <cstring>

namespace exec_format {
namespace {

constexpr size_t kBlock = 512;

std::string Padded(std::string content) {
  content.resize((content.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return content;
}

std::string PaxRecord(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

}  // namespace

std::string TarHeader(const std::string& path, char type, const std::string& target, uint64_t size,
                      int mode) {
  std::string header(kBlock, '\0');
  auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  auto octal = [](uint64_t value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
    return std::string(text);
  };
  put(0, path.substr(0, 100));
  put(100, octal(static_cast<uint64_t>(mode), 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(0, 11));
  put(148, "        ");
  header[156] = type;
  put(157, target.substr(0, 100));
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  return header;
}

LayerMaker& LayerMaker::Entry(const std::string& path, char type, const std::string& target,
                              const std::string& content, int mode) {
  std::string pax;
  if (path.size() > 100) pax += PaxRecord("path", path);
  if (target.size() > 100) pax += PaxRecord("linkpath", target);
  if (!pax.empty()) tar_ += TarHeader("pax", 'x', "", pax.size(), 0644) + Padded(pax);
  tar_ += TarHeader(path, type, target, content.size(), mode) + Padded(content);
  return *this;
}

std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  constexpr int kGzip = 16;
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Zstd(const std::string& bytes, int window_bits) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  // Without the size of the content, which would make the window smaller.
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  if (window_bits > 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_bits);
  std::string packed(ZSTD_compressBound(bytes.size()) + 64, '\0');
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  // In two steps, so that the size is not known when the header is written.
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0) {
  }
  packed.resize(out.pos);
  ZSTD_freeCCtx(context);
  return packed;
}

}  // namespace exec_format
