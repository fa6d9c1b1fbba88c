// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <glog/logging.h>

#include <string>

#include "kube/types/unstructured.h"

namespace fuzz {

// Applies a JSON patch as the API server does.
inline kube::Json Patched(const kube::Json& pod, const std::string& patch) {
  if (patch.empty()) return pod;
  kube::Result<kube::Json> operations = kube::ParseJson(patch);
  CHECK(operations) << patch;
  try {
    return pod.patch(*operations);
  } catch (const kube::Json::exception& failure) {
    LOG(FATAL) << failure.what() << ": " << patch;
  }
}

}  // namespace fuzz
