// SPDX-License-Identifier: Apache-2.0
// The path of the webhook: its last part is known to the API server alone, so that no other client
// can send reviews. The operator and the webhook derive it from the private key of the serving
// certificate, which both have.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "kube/base/clock.h"

namespace ephemeral {

// The API server gets a new path this time after a new key: by then kubelets have brought the key
// to the pods. A pod admits the previous path for longer, as the operator may be absent.
inline constexpr std::chrono::minutes kNewPathAfter{5};
inline constexpr std::chrono::hours kPreviousPathFor{24};

// kWarningsPath, '/', and the HMAC-SHA256 of kWarningsPath by the private key, in hexadecimal.
std::string SecretPath(std::string_view key_pem);
// Whether `path` has the form of a SecretPath().
bool IsSecretPath(std::string_view path);

// The paths that a replica admits. Thread: the server's.
class SecretPaths {
 public:
  // `clock` outlives it.
  explicit SecretPaths(kube::Clock& clock) : clock_(clock) {}

  // Sets the key that the server has now; with none, nothing is admitted. To be called at the start
  // and before Admits().
  void SetKey(const std::string& key_pem);
  // Its time does not depend on how much of `path` is right.
  bool Admits(std::string_view path);

 private:
  kube::Clock& clock_;
  std::string key_pem_;
  std::string path_;
  std::string previous_;
  kube::TimePoint previous_until_{};
};

}  // namespace ephemeral
