// SPDX-License-Identifier: Apache-2.0
// ConfigCheck: checks configuration files of administrators with the parsers that read them later.
// Errors name the line, and never quote a value that may be a secret.
#pragma once

#include <string_view>

#include "kube/base/error.h"

namespace inspection {

// All errors are kInvalid.
kube::Result<> CheckRegistriesConf(std::string_view toml);
kube::Result<> CheckPolicyJson(std::string_view json);
// Returns: the number of certificates in the bundle. Text between them and other PEM blocks are
// ignored.
kube::Result<int> CountCertificates(std::string_view pem);
// `type`: of the Secret. kInvalid if the pull secret has entries and none of them can be used.
kube::Result<> CheckPullSecret(std::string_view type, std::string_view data);

}  // namespace inspection
