// SPDX-License-Identifier: Apache-2.0
// Digest: computes and verifies the digests of contents.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace inspection {

// "sha256:<64 hex>" of `content`.
std::string Sha256Digest(std::string_view content);

// kInvalid unless `content` has the digest `wanted` ("sha256:…" or "sha512:…").
kube::Result<void> VerifyDigest(std::string_view wanted, std::string_view content);

// The same for content that arrives in pieces.
//
//   DigestVerifier verifier(wanted);
//   ... verifier.Add(piece) ...
//   Result<> verified = verifier.Verify();
class DigestVerifier {
 public:
  explicit DigestVerifier(std::string wanted);
  ~DigestVerifier();

  void Add(std::string_view piece);
  // Once, after the last piece. Errors: as VerifyDigest().
  kube::Result<void> Verify();

 private:
  struct State;
  std::string wanted_;
  std::unique_ptr<State> state_;  // null: an unknown algorithm
};

}  // namespace inspection
