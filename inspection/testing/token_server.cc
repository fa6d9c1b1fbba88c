// SPDX-License-Identifier: Apache-2.0
#include "inspection/testing/token_server.h"

#include <openssl/base.h>
#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <chrono>

#include "inspection/registry/auth.h"
#include "kube/base/base64.h"
#include "kube/base/percent.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Json;

std::string Base64Url(std::string_view bytes) {
  std::string text = kube::Base64Encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

// ES256: r and s, 32 bytes each.
std::string Sign(const std::string& key_pem, const std::string& text) {
  bssl::UniquePtr<BIO> bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  bssl::UniquePtr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  bssl::ScopedEVP_MD_CTX context;
  uint8_t der[128];
  size_t size = sizeof der;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  if (key == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), der, &size, bytes, text.size()) != 1) {
    return "";
  }
  bssl::UniquePtr<ECDSA_SIG> signature(ECDSA_SIG_from_bytes(der, size));
  uint8_t both[64];
  BN_bn2bin_padded(both, 32, ECDSA_SIG_get0_r(signature.get()));
  BN_bn2bin_padded(both + 32, 32, ECDSA_SIG_get0_s(signature.get()));
  return std::string(reinterpret_cast<char*>(both), sizeof both);
}

// The DER of a certificate in base64, as x5c has it.
std::string BareCertificate(std::string pem) {
  pem.erase(0, pem.find('\n'));
  pem.erase(pem.find("-----END"));
  std::erase(pem, '\n');
  return pem;
}

std::string NewToken(const kube::KeyPair& signer, const std::string& repository) {
  auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  Json header = {
      {"typ", "JWT"}, {"alg", "ES256"}, {"x5c", {BareCertificate(signer.certificate_pem)}}};
  Json access = {{"type", "repository"}, {"name", repository}, {"actions", {"pull"}}};
  Json claims = {{"iss", "test"},
                 {"aud", "test"},
                 {"sub", "u"},
                 {"jti", "1"},
                 {"iat", now.count() - 60},
                 {"nbf", now.count() - 60},
                 {"exp", now.count() + 600},
                 {"access", Json::array({access})}};
  std::string text = Base64Url(kube::DumpJson(header)) + "." + Base64Url(kube::DumpJson(claims));
  return text + "." + Base64Url(Sign(signer.private_key_pem, text));
}

std::string RepositoryIn(const std::string& target) {
  std::string decoded = kube::PercentDecode(target).value();
  size_t from = decoded.find("repository:") + std::string_view("repository:").size();
  return decoded.substr(from, decoded.find(":pull", from) - from);
}

kube::asio::awaitable<void> Serve(kube::KeyPair signer, kube::ScriptedPeer& peer) {
  while (true) {
    std::optional<kube::ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    std::string answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    if (request->Header("Authorization") == BasicAuthorization("u", "secret")) {
      std::string body =
          kube::DumpJson(Json({{"token", NewToken(signer, RepositoryIn(request->target))}}));
      answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    bool sent = co_await peer.Write(std::move(answer));
    if (!sent) co_return;
  }
}

}  // namespace

TokenServer::TokenServer(kube::Executor executor, kube::KeyPair certificate, kube::KeyPair signer) {
  kube::ScriptedServerOptions options;
  options.certificate = std::move(certificate);
  server_ = std::make_unique<kube::ScriptedServer>(
      executor, options, [signer](kube::ScriptedPeer& peer) { return Serve(signer, peer); });
}

std::string TokenServer::url() const { return "https://" + server_->url().Authority() + "/token"; }

}  // namespace inspection
