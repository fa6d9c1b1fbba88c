// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files and their lookup.
//
//   Result<ClientConfig> config = LoadClientConfig(FLAGS_kubeconfig);
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/client/client_config.h"

namespace kube {

// `path` may list several files, separated by ":". The first definition of an entry wins. Missing
// files are skipped unless all are missing. Paths in a file are relative to its folder. An empty
// `context` selects current-context. Errors: kNotFound (no such file), kInvalid; with file and
// field.
Result<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context = "");

// Loads `flag_path`, else $KUBECONFIG, else the service account inside a cluster, else
// ~/.kube/config.
Result<ClientConfig> LoadClientConfig(const std::string& flag_path);

}  // namespace kube
