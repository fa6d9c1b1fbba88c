// SPDX-License-Identifier: Apache-2.0
// Prometheus's configuration of the ServiceMonitors and PodMonitors in the manifests, as the
// Prometheus operator makes it. Only the fields that our monitors use.
#pragma once

#include <string>

#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

struct ScrapeFiles {
  // For the discovery of targets.
  std::string kubeconfig;
  // Instead of the monitors' bearerTokenFile.
  std::string token;
  // The folder of the authorities, each in a file with the name of its Secret.
  std::string authorities;
};

// The entries of `scrape_configs` for a ServiceMonitor or PodMonitor. An unknown field is a
// mistake, which ends the program.
Json ScrapeConfigs(const Json& monitor, const ScrapeFiles& files);

}  // namespace e2e
