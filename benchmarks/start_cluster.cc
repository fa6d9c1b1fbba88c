// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/start_cluster.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "e2e/cluster_harness/own_network.h"

namespace benchmarks {

kube::Result<std::unique_ptr<e2e::ProcessCluster>> StartCluster(const std::string& folder,
                                                                ClusterOptions options) {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr || *assets == '\0') {
    return kube::Error::Invalid(
        "KUBEBUILDER_ASSETS must name the folder with etcd, kube-apiserver, "
        "kube-controller-manager and kube-scheduler; "
        "e2e/cluster/build-tools.sh builds them and prints it");
  }
  std::error_code ec;
  std::filesystem::remove_all(folder, ec);
  if (!std::filesystem::create_directories(folder, ec))
    return kube::Error::Invalid("--folder: " + ec.message());
  kube::Result<> network = e2e::EnterOwnNetwork();
  if (!network) return network.error();
  return e2e::ProcessCluster::Start({.assets = assets,
                                     .folder = folder,
                                     .audit = options.audit,
                                     .api_server_args = std::move(options.api_server_args)});
}

}  // namespace benchmarks
