// SPDX-License-Identifier: Apache-2.0
#include "kube/client/client_config.h"

#include <cstdlib>

#include "kube/client/read_file.h"

namespace kube {
namespace {

constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<ClientConfig> InClusterConfig() { return InClusterConfig(kServiceAccount); }

Result<ClientConfig> InClusterConfig(const std::string& folder) {
  std::string host = Variable("KUBERNETES_SERVICE_HOST");
  std::string port = Variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return Error::NotFound(
        "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  if (host.find(':') != std::string::npos) host = "[" + host + "]";

  ClientConfig config;
  config.server = "https://" + host + ":" + port;
  config.token_file = folder + "/token";
  config.ca_file = folder + "/ca.crt";
  Result<std::string> token = ReadFile(config.token_file);
  if (!token) return token.error().Prefix("service account token");
  // Optional: not every pod has this file.
  if (Result<std::string> ns = ReadFile(folder + "/namespace")) config.ns = std::move(*ns);
  return config;
}

}  // namespace kube
