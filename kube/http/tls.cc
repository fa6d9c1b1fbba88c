// SPDX-License-Identifier: Apache-2.0
#include "kube/http/tls.h"

#include <openssl/base.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <fstream>
#include <iterator>

namespace kube {
namespace {

// The path in Debian and in distroless images.
constexpr const char* kSystemRoots = "/etc/ssl/certs/ca-certificates.crt";

// The last reason in BoringSSL's error queue, which this clears.
std::string TakeReason() {
  uint32_t code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

bssl::UniquePtr<BIO> View(std::string_view pem) {
  return bssl::UniquePtr<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Adds every certificate of `pem`. A certificate that BoringSSL refuses is an error only with
// `strict`.
Result<void> AddCertificates(X509_STORE* store, std::string_view pem, bool strict) {
  bssl::UniquePtr<BIO> bio = View(pem);
  int added = 0;
  while (true) {
    bssl::UniquePtr<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) {
      uint32_t code = ERR_peek_last_error();
      bool end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
      std::string reason = TakeReason();
      if (end) break;
      if (strict) return Error::Invalid("CA bundle: " + reason);
      continue;
    }
    if (X509_STORE_add_cert(store, certificate.get()) == 1) ++added;
    ERR_clear_error();
  }
  if (added == 0) return Error::Invalid("CA bundle without certificates");
  return Ok();
}

Result<std::string> ReadSystemRoots() {
  std::ifstream file(kSystemRoots, std::ios::binary);
  std::string pem{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (pem.empty()) return Error::Invalid(std::string("no certificates in ") + kSystemRoots);
  return pem;
}

// Trusts intermediate certificates of a CA bundle too, as Go does: the user listed them.
bssl::UniquePtr<X509_STORE> NewStore() {
  bssl::UniquePtr<X509_STORE> store(X509_STORE_new());
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

// All contexts that trust only the system's CAs share one store; the last of them frees it.
Result<std::shared_ptr<X509_STORE>> SystemStore() {
  static std::weak_ptr<X509_STORE> shared;
  if (std::shared_ptr<X509_STORE> store = shared.lock()) return store;
  Result<std::string> pem = ReadSystemRoots();
  if (!pem) return pem.error();
  std::shared_ptr<X509_STORE> store(NewStore().release(), X509_STORE_free);
  Result<void> added = AddCertificates(store.get(), *pem, /*strict=*/false);
  if (!added) return added.error();
  shared = store;
  return store;
}

}  // namespace

struct TlsContext::State {
  asio::ssl::context context{asio::ssl::context::tls_client};
  std::shared_ptr<X509_STORE> system_store;
  std::string server_name;
  bool insecure = false;
  // The newest session and its host.
  bssl::UniquePtr<SSL_SESSION> session;
  std::string session_name;

  static int Index() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
  }

  // Returning 1 takes ownership of `session`.
  static int KeepSession(SSL* ssl, SSL_SESSION* session) {
    auto* self = static_cast<State*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), Index()));
    const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    self->session.reset(session);
    self->session_name = name == nullptr ? "" : name;
    return 1;
  }
};

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}

TlsContext::~TlsContext() {
  // Connections may outlive the context; their new sessions are dropped then.
  SSL_CTX_sess_set_new_cb(state_->context.native_handle(), nullptr);
}

asio::ssl::context& TlsContext::native() { return state_->context; }

Result<std::shared_ptr<TlsContext>> TlsContext::New(const TlsOptions& options) {
  auto state = std::make_unique<State>();
  SSL_CTX* context = state->context.native_handle();
  state->server_name = options.server_name;
  state->insecure = options.insecure;

  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_set_ex_data(context, State::Index(), state.get());
  SSL_CTX_sess_set_new_cb(context, &State::KeepSession);

  // Trusted CAs.
  SSL_CTX_set_verify(context, options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!options.insecure && options.ca_pem.empty()) {
    Result<std::shared_ptr<X509_STORE>> store = SystemStore();
    if (!store) return store.error();
    state->system_store = *store;
    SSL_CTX_set1_verify_cert_store(context, store->get());
  } else if (!options.insecure) {
    bssl::UniquePtr<X509_STORE> store = NewStore();
    Result<void> added = AddCertificates(store.get(), options.ca_pem, /*strict=*/true);
    if (!added) return added.error();
    if (options.system_roots) {
      Result<std::string> pem = ReadSystemRoots();
      if (!pem) return pem.error();
      Result<void> roots = AddCertificates(store.get(), *pem, /*strict=*/false);
      if (!roots) return roots.error();
    }
    SSL_CTX_set_cert_store(context, store.release());
  }

  // Client certificate.
  if (options.cert_pem.empty() != options.key_pem.empty()) {
    return Error::Invalid("client certificate and client key: one without the other");
  }
  if (!options.cert_pem.empty()) {
    boost::system::error_code ec;
    state->context.use_certificate_chain(asio::buffer(options.cert_pem), ec);
    if (ec) return Error::Invalid("client certificate: " + ec.message());
    state->context.use_private_key(asio::buffer(options.key_pem), asio::ssl::context::pem, ec);
    if (ec) return Error::Invalid("client key: " + ec.message());
    if (SSL_CTX_check_private_key(context) != 1) {
      return Error::Invalid("client key does not match the client certificate: " + TakeReason());
    }
  }
  return std::shared_ptr<TlsContext>(new TlsContext(std::move(state)));
}

Result<void> TlsContext::Prepare(ssl_st* ssl, const std::string& host) const {
  const std::string& name = state_->server_name.empty() ? host : state_->server_name;
  boost::system::error_code no_address;
  asio::ip::make_address(name, no_address);
  bool is_name = static_cast<bool>(no_address);

  // RFC 6066: addresses are not sent as server names.
  if (is_name && SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) {
    return Error::Invalid("not a server name: " + TakeReason());
  }
  if (!state_->insecure) {
    X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(
        param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    int set = is_name ? X509_VERIFY_PARAM_set1_host(param, name.data(), name.size())
                      : X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str());
    if (set != 1) return Error::Invalid("not a name that a certificate can have: " + TakeReason());
  }
  if (state_->session != nullptr && state_->session_name == (is_name ? name : "")) {
    SSL_set_session(ssl, state_->session.get());
  }
  return Ok();
}

std::string TlsContext::VerifyFailure(const ssl_st* ssl) {
  long result = SSL_get_verify_result(ssl);
  // BoringSSL reports the latter if it failed before verifying a certificate.
  if (result == X509_V_OK || result == X509_V_ERR_INVALID_CALL) return "";
  return X509_verify_cert_error_string(result);
}

}  // namespace kube
