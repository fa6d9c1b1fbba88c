// SPDX-License-Identifier: Apache-2.0
// Small files of configuration: kubeconfigs, tokens, certificates.
#pragma once

#include <string>

#include "kube/base/error.h"

namespace kube {

// The whole file. kNotFound if it is not there, kInvalid if it can't be read or has more than 4
// MiB; both name it.
Result<std::string> ReadFile(const std::string& path);

}  // namespace kube
