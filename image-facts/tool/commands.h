// SPDX-License-Identifier: Apache-2.0
// The commands of `bazel run //image-facts:facts` (facts_main.cc). `ns`: the operator's namespace.
// Each returns what is to be printed. The references outlive the calls.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace image_facts {

// What is known of the image. Errors: kNotFound, and the API server's.
kube::Async<std::string> Show(kube::Client& client, kube::Clock& clock, std::string ns,
                              std::string image);
// What registries tell everybody, signed (signed_text.h). Errors: kInvalid for the key, and the API
// server's.
kube::Async<std::string> Export(kube::Client& client, std::string ns, std::string private_key);
// Adds such a file to the cluster. Errors: kInvalid for what is not signed with the key, and those
// of Merge() and the API server.
kube::Async<std::string> Import(kube::Client& client, kube::Clock& clock, std::string ns,
                                std::string file, std::string public_key);

}  // namespace image_facts
