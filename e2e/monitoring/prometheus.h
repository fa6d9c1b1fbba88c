// SPDX-License-Identifier: Apache-2.0
// Prometheus: a real server (Debian's) that scrapes the operator of a cluster as the option
// `monitoring` says, and evaluates its alerts, with a shorter `for`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/framework/cluster.h"
#include "kube/http/pool.h"
#include "kube/types/unstructured.h"

namespace e2e {

class Prometheus {
 public:
  // False where no Prometheus is installed.
  static bool Installed();

  // Starts a server whose files are in `folder`. `token`: of a ServiceAccount that may read
  // metrics. Errors: those of reading the manifests and the certificates' Secrets. A query fails
  // until the server is ready.
  static kube::Result<std::unique_ptr<Prometheus>> Start(Cluster& cluster, std::string folder,
                                                         const std::string& token);
  // Stops the server and deletes its files.
  ~Prometheus();

  // From now on, the server scrapes the pods of this moment.
  kube::Result<> UpdateTargets();
  // The `data` of the answer to GET /api/v1/`path`; see Prometheus's HTTP API.
  kube::Result<kube::Json> Get(const std::string& path);
  // The result of a PromQL query: a list of series.
  kube::Result<kube::Json> Query(const std::string& expression);

  // The monitors' objects, the rules and the dashboard in the manifests.
  const std::vector<kube::Unstructured>& manifests() const { return manifests_; }
  std::string LogTail() const { return TailOfFile(folder_ + "/log"); }

 private:
  Prometheus(Cluster& cluster, std::string folder)
      : cluster_(cluster), folder_(std::move(folder)) {}

  // prometheus.yaml and the files that it names, without the targets.
  kube::Result<> WriteConfiguration(const std::string& token);
  // An entry of scrape_configs.
  kube::Result<kube::Json> ScrapeConfig(const kube::Json& monitor);

  Cluster& cluster_;
  std::string folder_;
  std::vector<kube::Unstructured> manifests_;
  std::unique_ptr<kube::HttpPool> api_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace e2e
