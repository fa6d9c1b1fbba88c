// SPDX-License-Identifier: Apache-2.0
// ClientConfig: how to reach one API server and who we are to it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/error.h"
#include "kube/http/tls.h"

namespace kube {

// A command that prints credentials; client.authentication.k8s.io/v1 and v1beta1.
struct ExecConfig {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // beside our own environment
  // Shown when the command is not there.
  std::string install_hint;
  // Hands server, CA and server name to the command, in KUBERNETES_EXEC_INFO.
  bool provide_cluster_info = false;
};

struct ClientConfig {
  // "https://host:6443", with a path in front of the API's where the server is behind one.
  std::string server;
  // What is known from the start; the files below, where named, replace parts of it.
  TlsOptions tls;
  std::string proxy_url;

  // Files are read when first needed and again every minute, as they rotate.
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string token_file;  // wins over `token`

  std::string token;
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;

  // Of the context; inside a cluster the pod's own. May be empty.
  std::string ns;
};

// What a pod's service account gives: KUBERNETES_SERVICE_HOST and _PORT, token, CA and namespace.
// kNotFound outside of a cluster.
Result<ClientConfig> InClusterConfig();
// The same with another folder than /var/run/secrets/kubernetes.io/serviceaccount.
Result<ClientConfig> InClusterConfig(const std::string& folder);

}  // namespace kube
