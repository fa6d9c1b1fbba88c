// SPDX-License-Identifier: Apache-2.0
// ConfigCheck: whether a text that an administrator wrote can be used, judged by the parsers that
// use it. The error says in which line it cannot, and never quotes what may be a secret.
#pragma once

#include <string_view>

#include "kube/base/error.h"

namespace inspection {

// All errors are kInvalid.
kube::Result<> CheckRegistriesConf(std::string_view toml);
kube::Result<> CheckPolicyJson(std::string_view json);
// Returns: how many certificates the bundle has; text between them is ignored, as are blocks of
// another kind.
kube::Result<int> CountCertificates(std::string_view pem);
// `type`: of the Secret. A pull secret of which no entry can be used is refused, one without
// entries is not.
kube::Result<> CheckPullSecret(std::string_view type, std::string_view data);

}  // namespace inspection
