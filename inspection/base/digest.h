// SPDX-License-Identifier: Apache-2.0
// Digest: computes and verifies the digests of contents.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace inspection {

// "sha256:<64 hex>" of `content`.
std::string Sha256Digest(std::string_view content);

// kInvalid unless `content` has the digest `wanted` ("sha256:…" or "sha512:…").
kube::Result<void> VerifyDigest(std::string_view wanted, std::string_view content);

}  // namespace inspection
