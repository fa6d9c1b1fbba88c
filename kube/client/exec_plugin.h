// SPDX-License-Identifier: Apache-2.0
// Credential plugins: commands that print an ExecCredential of client.authentication.k8s.io/v1 or
// v1beta1.
#pragma once

#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client_config.h"

namespace kube {

struct ExecCredential {
  std::string token;
  std::string cert_pem;
  std::string key_pem;
  // nullopt: valid until the server refuses it.
  std::optional<WallTime> expires;
};

// Parses an ExecCredential of `api_version`. Errors: kInvalid names the field, never its value.
Result<ExecCredential> ParseExecCredential(std::string_view text, const std::string& api_version);

// Runs config.exec, which must be set. Errors: RunCommand's and ParseExecCredential's.
Async<ExecCredential> RunExecPlugin(ClientConfig config, std::chrono::milliseconds timeout);

}  // namespace kube
