// SPDX-License-Identifier: Apache-2.0
#include "kube/server/tls_files.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <cstring>

namespace kube {
namespace {

constexpr size_t kMaxFileBytes = 1024 * 1024;

Result<std::string> ReadFile(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Error::Invalid("cannot read " + path + ": " + std::strerror(errno));
  std::string contents;
  char chunk[4096];
  ssize_t size = 0;
  while ((size = read(file, chunk, sizeof chunk)) > 0 && contents.size() <= kMaxFileBytes)
    contents.append(chunk, size);
  int error = errno;
  close(file);
  if (size < 0) return Error::Invalid("cannot read " + path + ": " + std::strerror(error));
  if (contents.size() > kMaxFileBytes) return Error::Invalid(path + " is larger than 1 MiB");
  return contents;
}

// ALPN: HTTP/1.1 only, as the API server uses for webhooks; a client that offers other protocols
// only gets no ALPN.
int SelectProtocol(SSL*, const uint8_t** out, uint8_t* out_size, const uint8_t* offered,
                   unsigned offered_size, void*) {
  constexpr std::string_view kHttp11 = "http/1.1";
  for (unsigned i = 0; i < offered_size; i += 1 + offered[i]) {
    std::string_view protocol(reinterpret_cast<const char*>(offered) + i + 1, offered[i]);
    if (protocol != kHttp11) continue;
    *out = offered + i + 1;
    *out_size = offered[i];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

std::shared_ptr<asio::ssl::context> NewContext() {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* ssl = context->native_handle();
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  SSL_CTX_set_alpn_select_cb(ssl, SelectProtocol, nullptr);
  // No session tickets: the API server reuses connections, not sessions.
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
  return context;
}

}  // namespace

TlsFiles::TlsFiles(std::string certificate_file, std::string key_file)
    : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}

TlsFiles::Stamp TlsFiles::StampOf(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

Result<bool> TlsFiles::Refresh() {
  // Stamps before contents: the next call sees a change in between.
  Stamp certificate_stamp = StampOf(certificate_file_);
  Stamp key_stamp = StampOf(key_file_);
  if (tried_ && certificate_stamp == certificate_stamp_ && key_stamp == key_stamp_) return false;
  tried_ = true;
  certificate_stamp_ = certificate_stamp;
  key_stamp_ = key_stamp;

  Result<std::string> certificate = ReadFile(certificate_file_);
  if (!certificate) return certificate.error();
  Result<std::string> key = ReadFile(key_file_);
  if (!key) return key.error();
  if (context_ != nullptr && *certificate == certificate_ && *key == key_) return false;

  std::shared_ptr<asio::ssl::context> context = NewContext();
  boost::system::error_code ec;
  context->use_certificate_chain(asio::buffer(*certificate), ec);
  if (ec) return Error::Invalid(certificate_file_ + " is not a PEM certificate: " + ec.message());
  context->use_private_key(asio::buffer(*key), asio::ssl::context::pem, ec);
  bool fits = !ec && SSL_CTX_check_private_key(context->native_handle()) == 1;
  ERR_clear_error();
  if (!fits) return Error::Invalid(key_file_ + " is not the private key of " + certificate_file_);

  context_ = std::move(context);
  certificate_ = std::move(*certificate);
  key_ = std::move(*key);
  return true;
}

}  // namespace kube
