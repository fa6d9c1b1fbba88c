// SPDX-License-Identifier: Apache-2.0
// SignedText: a text with an Ed25519 signature in its first line, for `facts export` and `import`.
//
//   openssl genpkey -algorithm ed25519 -out key.pem
//   openssl pkey -in key.pem -pubout -out key.pub
//
// Anybody can check it: the signature is that of all bytes after the first line.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace image_facts {

// `private_key`: PEM. Errors: kInvalid, which never quotes the key.
kube::Result<std::string> Sign(std::string_view text, std::string_view private_key);
// The text of an untrusted `file`. `public_key`: PEM. Errors: kInvalid for what is not signed with
// the key.
kube::Result<std::string> Verify(std::string_view file, std::string_view public_key);

}  // namespace image_facts
