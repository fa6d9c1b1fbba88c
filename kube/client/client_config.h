// SPDX-License-Identifier: Apache-2.0
// ClientConfig: the address of an API server and the credentials for it.
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
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's
  // Part of the error if the command is not installed.
  std::string install_hint;
  // Passes server, CA and server name to the command in KUBERNETES_EXEC_INFO.
  bool provide_cluster_info = false;
};

struct ClientConfig {
  // "https://host:6443", followed by a path if the API is served below one.
  std::string server;
  // Initial values; the files below override them.
  TlsOptions tls;
  std::string proxy_url;

  // Files are read at first use and again every minute: they rotate.
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string token_file;  // overrides `token`

  std::string token;
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;

  // The namespace of the context; inside a cluster that of the pod. May be empty.
  std::string ns;
};

// The config of a pod's service account: KUBERNETES_SERVICE_HOST and _PORT, token, CA and
// namespace. Errors: kNotFound outside of a cluster.
Result<ClientConfig> InClusterConfig();
// Reads `folder` instead of /var/run/secrets/kubernetes.io/serviceaccount.
Result<ClientConfig> InClusterConfig(const std::string& folder);

}  // namespace kube
