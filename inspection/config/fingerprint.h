// SPDX-License-Identifier: Apache-2.0
// The fingerprint of an InspectorConfig: what was read under one configuration counts under another
// one only if both have the same.
#pragma once

#include <string>

#include "inspection/config/inspector_config.h"

namespace inspection {

// "sha256:<64 hex>" of all but the credential providers, which add nothing to what is read without
// credentials. Secrets in it (keys, headers) cannot be found from it.
std::string Fingerprint(const InspectorConfig& config);

}  // namespace inspection
