// SPDX-License-Identifier: Apache-2.0
// Reads small configuration files: kubeconfigs, tokens, certificates.
#pragma once

#include <string>

#include "kube/base/error.h"

namespace kube {

// The whole file. Errors: kNotFound (no such file), kInvalid (unreadable or larger than 4 MiB);
// with the path.
Result<std::string> ReadFile(const std::string& path);

}  // namespace kube
