// SPDX-License-Identifier: Apache-2.0
// Scrape targets: what a ServiceMonitor or PodMonitor selects in a cluster. The Prometheus operator
// makes Prometheus ask the API server itself; Debian's Prometheus is built without that.
#pragma once

#include "e2e/framework/cluster.h"
#include "kube/types/unstructured.h"

namespace e2e {

// The first endpoint of the monitor: our monitors have one.
const kube::Json& EndpointOf(const kube::Json& monitor);

// The content of a file for file_sd_configs: [{"targets": ["10.250.0.1:8443"], "labels": {"job":
// ..., "namespace": ..., "pod": ...}}], with the labels that the Prometheus operator sets. Errors:
// the API server's.
kube::Result<kube::Json> ScrapeTargets(Cluster& cluster, const kube::Json& monitor);

}  // namespace e2e
