// SPDX-License-Identifier: Apache-2.0
// console: pages that show where pods may run, and why. It reads with the rights of the user who
// has logged in, and has none of its own.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "console/server/pages.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/client/client_config.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/crypto/secret_token.h"
#include "kube/program/program.h"
#include "kube/server/https_server.h"
#include "kube/server/ops_server.h"

DECLARE_string(kubeconfig);

DEFINE_string(address, "127.0.0.1:8500",
              "A loopback address where the pages are served over plain HTTP, as host:port; "
              "`kubectl port-forward` reaches it.");
DEFINE_string(tls_address, "",
              "Where the pages are served over TLS, as host:port, if --cert-dir has a certificate. "
              "Empty: nowhere.");
DEFINE_string(cert_dir, "/etc/console/certs",
              "Folder of tls.crt and tls.key for --tls-address. Changed files are loaded without a "
              "restart.");
DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace, which has the facts about images.");
DEFINE_bool(own_credentials, false,
            "Answer with the credentials of the kubeconfig, to those who know the secret in the "
            "address that is printed. For a user's own machine.");

namespace console {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

// Users' tokens are for this server alone; no credential of the process may stand in for one.
kube::ClientConfig WithoutCredentials(const kube::ClientConfig& config) {
  kube::ClientConfig bare{.server = config.server,
                          .tls = config.tls,
                          .proxy_url = config.proxy_url,
                          .ca_file = config.ca_file,
                          .ns = config.ns};
  bare.tls.cert_pem.clear();
  bare.tls.key_pem.clear();
  return bare;
}

Result<std::unique_ptr<kube::Client>> NewClientFromFlags(kube::Program& program) {
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) return config.error();
  if (!FLAGS_own_credentials) config = WithoutCredentials(*config);
  kube::ClientOptions options = program.OptionsOfClients();
  options.max_connections = 8;
  return kube::NewClient(program.executor(), program.clock(), std::move(*config),
                         std::move(options));
}

bool IsLoopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("[::1]:");
}

// With `certificates`, a folder, over TLS.
Result<kube::HttpsServer*> AddServer(kube::Program& program, Pages& pages,
                                     const std::string& address, const std::string& certificates) {
  kube::HttpsServerOptions options = ServerOptions(address);
  if (!certificates.empty()) {
    options.certificate_file = certificates + "/tls.crt";
    options.key_file = certificates + "/tls.key";
  }
  auto made = kube::HttpsServer::New(program.executor(), program.clock(), std::move(options));
  if (!made) return made.error();
  pages.AddTo(**made);
  return &program.AddServer("pages", std::move(*made));
}

// nullptr if nothing is to be served over TLS.
Result<kube::HttpsServer*> AddTlsServer(kube::Program& program, Pages& pages) {
  if (FLAGS_tls_address.empty()) return nullptr;
  if (!std::filesystem::exists(FLAGS_cert_dir + "/tls.crt")) {
    LOG(INFO) << "no tls.crt in --cert-dir: the pages are at --address alone";
    return nullptr;
  }
  Result<kube::HttpsServer*> server = AddServer(program, pages, FLAGS_tls_address, FLAGS_cert_dir);
  if (!server) return server.error().Prefix("--tls-address, --cert-dir");
  return server;
}

Async<> Serve(kube::Program& program) {
  Result<std::unique_ptr<kube::Client>> client = NewClientFromFlags(program);
  if (!client) co_return client.error();
  // On a user's machine, nobody probes it.
  if (FLAGS_own_credentials && gflags::GetCommandLineFlagInfoOrDie("health_address").is_default)
    FLAGS_health_address = "127.0.0.1:0";
  Result<> started = program.StartOps(&program.metrics());
  if (!started) co_return started.error();
  if (!IsLoopback(FLAGS_address))
    co_return Error::Invalid("--address must be a loopback address: tokens need TLS elsewhere");
  std::string secret;
  if (FLAGS_own_credentials) {
    Result<std::string> token = kube::NewSecretToken();
    if (!token) co_return token.error();
    secret = std::move(*token);
  }
  Pages pages(**client, program.executor(), program.clock(), program.metrics(),
              {.operator_namespace = FLAGS_operator_namespace, .secret = secret});
  Result<kube::HttpsServer*> server = AddServer(program, pages, FLAGS_address, "");
  if (!server) co_return server.error().Prefix("--address");
  Result<kube::HttpsServer*> tls = AddTlsServer(program, pages);
  if (!tls) co_return tls.error();
  const std::string address = "http://" + FLAGS_address.substr(0, FLAGS_address.rfind(':') + 1) +
                              std::to_string((*server)->port()) + "/";
  LOG(INFO) << "pages at " << address << "; health on port " << program.ops_port();
  LOG_IF(INFO, *tls != nullptr) << "over TLS on port " << (*tls)->port();
  // Not to the log: it has the secret.
  if (!secret.empty()) std::cout << address << "#token=" << secret << std::endl;
  co_await program.app().WaitForStop();
  co_return co_await program.Drain();
}

}  // namespace
}  // namespace console

int main(int argc, char** argv) {
  return kube::RunProgram(
      {"console", "Shows where pods may run, and why.", api::kVersion, argc, argv},
      api::UserAgent("console"), console::Serve);
}
