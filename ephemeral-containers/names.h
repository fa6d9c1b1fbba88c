// SPDX-License-Identifier: Apache-2.0
// What other programs can see of the warnings about ephemeral containers: objects and paths.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace ephemeral {

// The webhook in the operator's namespace: the name of its Deployment and of its other objects, of
// its ServiceAccount, and of the ClusterRole that is bound to it.
inline constexpr std::string_view kWebhookName = "pod-placement-ephemeral-containers-web-hook";
inline constexpr std::string_view kWebhookConfigurationName = "multiarch-ephemeral-containers";
// The value of api::kOperandLabel.
inline constexpr std::string_view kOperand = "ephemeral-containers-webhook";
inline constexpr std::string_view kWarningsPath = "/ephemeral-container-warnings";
// In the Secret of the webhook's certificate: a token (kube/crypto/secret_token.h), the secret last
// part of the path. The operator writes that path into the configuration; the webhook admits no
// other.
inline constexpr std::string_view kPathKey = "path-token";
inline std::string PathOf(std::string_view token) {
  return std::string(kWarningsPath) + "/" + std::string(token);
}

// How long the API server waits for the webhook. Whoever adds a container waits as well.
inline constexpr std::chrono::seconds kTimeout{5};

}  // namespace ephemeral
