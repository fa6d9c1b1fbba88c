// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files, and the search for the one to use.
//
//   Result<ClientConfig> config = LoadClientConfig(FLAGS_kubeconfig);
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/client/client_config.h"

namespace kube {

// `path` may name several files, separated by ":": the first to name an entry wins, and files that
// are not there are skipped as long as one is. Paths inside a file are relative to it. `context`
// empty: current-context. Errors: kNotFound (no such file), kInvalid; both name file and field.
Result<ClientConfig> LoadKubeconfig(const std::string& path, const std::string& context = "");

// `flag_path` if given; else $KUBECONFIG; else inside a cluster its service account; else
// ~/.kube/config.
Result<ClientConfig> LoadClientConfig(const std::string& flag_path);

}  // namespace kube
