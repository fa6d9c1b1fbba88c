// SPDX-License-Identifier: Apache-2.0
#include "kube/client/exec_plugin.h"

#include "kube/base/base64.h"
#include "kube/client/command.h"
#include "kube/types/unstructured.h"

namespace kube {
namespace {

std::string ExecInfo(const ClientConfig& config) {
  Json info = {{"apiVersion", config.exec->api_version},
               {"kind", "ExecCredential"},
               {"spec", {{"interactive", false}}}};
  if (config.exec->provide_cluster_info) {
    Json& cluster = info["spec"]["cluster"];
    cluster["server"] = config.server;
    if (!config.tls.ca_pem.empty())
      cluster["certificate-authority-data"] = Base64Encode(config.tls.ca_pem);
    if (!config.tls.server_name.empty()) cluster["tls-server-name"] = config.tls.server_name;
    if (config.tls.insecure) cluster["insecure-skip-tls-verify"] = true;
    if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
  }
  return DumpJson(info);
}

}  // namespace

Result<ExecCredential> ParseExecCredential(std::string_view text, const std::string& api_version) {
  Result<Json> json = ParseJson(text);
  if (!json) return json.error();
  if (StringAt(*json, "kind") != "ExecCredential")
    return Error::Invalid("kind is not ExecCredential");
  if (StringAt(*json, "apiVersion") != api_version)
    return Error::Invalid("apiVersion is not " + api_version);
  ExecCredential credential{.token = StringAt(*json, "status.token"),
                            .cert_pem = StringAt(*json, "status.clientCertificateData"),
                            .key_pem = StringAt(*json, "status.clientKeyData"),
                            .expires = std::nullopt};
  if (credential.cert_pem.empty() != credential.key_pem.empty()) {
    return Error::Invalid(
        "status.clientCertificateData and status.clientKeyData: one without the other");
  }
  if (credential.token.empty() && credential.cert_pem.empty()) {
    return Error::Invalid("status has neither token nor clientCertificateData");
  }
  if (std::string expires = StringAt(*json, "status.expirationTimestamp"); !expires.empty()) {
    Result<WallTime> time = ParseTime(expires);
    if (!time) return time.error().Prefix("status.expirationTimestamp");
    credential.expires = *time;
  }
  return credential;
}

Async<ExecCredential> RunExecPlugin(ClientConfig config, std::chrono::milliseconds timeout) {
  Command command{.argv = {config.exec->command}, .env = config.exec->env, .timeout = timeout};
  command.argv.insert(command.argv.end(), config.exec->args.begin(), config.exec->args.end());
  command.env.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(config));
  Result<std::string> output = co_await RunCommand(std::move(command));
  if (!output) {
    Error error = output.error().Prefix("credential plugin");
    bool hint = error.code() == Code::kNotFound && !config.exec->install_hint.empty();
    co_return hint ? Error::NotFound(error.message() + "; " + config.exec->install_hint) : error;
  }
  Result<ExecCredential> credential = ParseExecCredential(*output, config.exec->api_version);
  if (!credential) co_return credential.error().Prefix("credential plugin " + config.exec->command);
  co_return credential;
}

}  // namespace kube
