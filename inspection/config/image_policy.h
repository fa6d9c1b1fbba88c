// SPDX-License-Identifier: Apache-2.0
// ImagePolicy: whether an image may be used (policy.json of containers/image, transport "docker").
//
// Supported requirements: insecureAcceptAnything and reject. Scopes that require signatures
// (signedBy, sigstoreSigned) are refused, as signatures are not verified here. Source:
// containers-policy.json(5).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/base/reference.h"
#include "kube/base/error.h"

namespace inspection {

class ImagePolicy {
 public:
  // Accepts all images.
  ImagePolicy() = default;
  // kInvalid for an invalid policy; "" accepts all images.
  static kube::Result<ImagePolicy> Parse(std::string_view json);

  // Refuses images outside these scopes and outside the scopes of the policy itself.
  void AllowOnly(const std::vector<std::string>& scopes);

  // kPermissionDenied names the scope that refuses the image, and the reason. The most specific
  // scope decides: the image with its tag or digest, its repository, each parent path, the host,
  // "*.domain", then "default".
  kube::Result<void> Check(const Reference& reference) const;

 private:
  enum class Requirement { kAccept, kReject, kSignature };

  std::map<std::string, Requirement, std::less<>> scopes_;
  Requirement default_ = Requirement::kAccept;
};

}  // namespace inspection
