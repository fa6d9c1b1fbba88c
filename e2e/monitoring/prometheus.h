// SPDX-License-Identifier: Apache-2.0
// Prometheus: a real server (Debian's) that scrapes the operator of a cluster as the manifests of
// components/monitoring say, and evaluates their alerts, with a shorter `for`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/framework/cluster.h"
#include "kube/http/pool.h"
#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

class Prometheus {
 public:
  // False where no Prometheus is installed.
  static bool Installed();

  // Starts a server on a free address of this network. `token`: of an account that may read
  // metrics. Files are in `folder`. Errors: those of reading the manifests and the certificates'
  // Secrets.
  static kube::Result<std::unique_ptr<Prometheus>> Start(Cluster& cluster, std::string folder,
                                                         const std::string& token);

  // The active targets; for their fields see /api/v1/targets of Prometheus.
  kube::Result<Json> Targets();
  // The alerts that fire.
  kube::Result<Json> FiringAlerts();
  // Why a rule could not be evaluated; empty for none.
  kube::Result<std::vector<std::string>> RuleErrors();
  // The names of all metrics.
  kube::Result<std::vector<std::string>> MetricNames();

  std::string LogTail() const { return TailOfFile(folder_ + "/log"); }

 private:
  Prometheus(Cluster& cluster, std::string folder)
      : cluster_(cluster), folder_(std::move(folder)) {}
  kube::Result<Json> Query(std::string target);

  Cluster& cluster_;
  std::string folder_;
  std::unique_ptr<kube::HttpPool> api_;
  std::unique_ptr<ChildProcess> process_;
};

// The objects of the monitoring manifests, in the operator's namespace of `cluster`.
kube::Result<std::vector<Json>> MonitoringManifests(Cluster& cluster);

}  // namespace e2e
