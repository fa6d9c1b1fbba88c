// SPDX-License-Identifier: Apache-2.0
// The Secret of the webhook, for tests.
#pragma once

#include <string>

#include "ephemeral-containers/names.h"
#include "kube/types/core.pb.h"

namespace ephemeral {

// In the namespace "ops"; "" for one without a token.
inline kube::core::Secret PathSecret(const std::string& token) {
  kube::core::Secret secret;
  secret.mutable_metadata()->set_namespace_("ops");
  secret.mutable_metadata()->set_name(std::string(kWebhookName));
  (*secret.mutable_data())["tls.key"] = "key";
  if (!token.empty()) (*secret.mutable_data())[std::string(kPathKey)] = token;
  return secret;
}

}  // namespace ephemeral
