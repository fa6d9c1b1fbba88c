// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/deploy/hub_kubeconfig.h"

#include "fleet/standalone/access/hub_token.h"
#include "kube/base/base64.h"
#include "kube/client/read_file.h"
#include "kube/http/url.h"
#include "kube/types/unstructured.h"

namespace fleet {

using kube::Error;
using kube::Json;
using kube::Result;

namespace {

bool IsOfThisMachine(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// The address; `server` unless it is empty.
Result<std::string> AddressOf(const std::string& of_administrator, const std::string& server) {
  const std::string& address = server.empty() ? of_administrator : server;
  Result<kube::Url> url = kube::Url::Parse(address);
  if (!url) return url.error().Prefix("the address of the hub");
  if (url->scheme != "https" || !url->userinfo.empty())
    return Error::Invalid("the address of the hub must be https://HOST:PORT");
  if (server.empty() && IsOfThisMachine(url->host)) {
    return Error::Invalid("the kubeconfig reaches the hub at " + url->host +
                          ", which is another machine for the agent: pass the address that the "
                          "member's pods can use by --hub-server");
  }
  return address;
}

}  // namespace

Result<std::string> AgentKubeconfig(const kube::ClientConfig& hub, const std::string& server) {
  Result<std::string> address = AddressOf(hub.server, server);
  if (!address) return address.error();
  if (hub.tls.insecure) {
    return Error::Invalid(
        "the hub's kubeconfig does not verify the hub (insecure-skip-tls-verify); the agent must: "
        "use a kubeconfig with the hub's certificate authority");
  }
  Json cluster = {{"server", *address}};
  Result<std::string> authority = hub.tls.ca_pem;
  if (!hub.ca_file.empty()) authority = kube::ReadFile(hub.ca_file);
  if (!authority) return authority.error();
  // Without one, the hub has the certificate of a public authority.
  if (!authority->empty()) cluster["certificate-authority-data"] = kube::Base64Encode(*authority);
  if (!hub.tls.server_name.empty()) cluster["tls-server-name"] = hub.tls.server_name;
  Json user = {{"tokenFile", std::string(kHubTokenKey)}};
  Json context = {{"cluster", "hub"}, {"user", "agent"}};
  Json config = {{"apiVersion", "v1"},
                 {"kind", "Config"},
                 {"clusters", Json::array({{{"name", "hub"}, {"cluster", cluster}}})},
                 {"users", Json::array({{{"name", "agent"}, {"user", user}}})},
                 {"contexts", Json::array({{{"name", "hub"}, {"context", context}}})},
                 {"current-context", "hub"}};
  return kube::PrettyJson(config) + "\n";
}

}  // namespace fleet
