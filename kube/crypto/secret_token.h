// SPDX-License-Identifier: Apache-2.0
// Secret tokens: random secrets of 256 bits, as 64 lowercase hexadecimal digits. They are never
// logged.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

// Errors: kInternal (no random numbers).
Result<std::string> NewSecretToken();

// Whether `text` has the form of a token.
bool IsSecretToken(std::string_view text);

// Whether both are the same. The time depends on the lengths alone, so no caller can guess a secret
// byte by byte.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace kube
