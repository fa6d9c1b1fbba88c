// SPDX-License-Identifier: Apache-2.0
// Policy: may images of a registry be used at all? (policy.json of containers/image, transport
// "docker")
//
// Known requirements: insecureAcceptAnything and reject. A scope that demands signatures (signedBy,
// sigstoreSigned) is refused, as signatures are not checked here: never silently accepted. Source:
// containers-policy.json(5).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/reference.h"
#include "kube/base/error.h"

namespace inspection {

class Policy {
 public:
  // Accepts everything.
  Policy() = default;
  // kInvalid for what is no policy; "" is the policy that accepts everything.
  static kube::Result<Policy> Parse(std::string_view json);

  // From now on only images of these scopes may be used, and those that the policy names itself.
  void AllowOnly(const std::vector<std::string>& scopes);

  // kPermissionDenied says which scope refuses the image and why. The most specific scope decides:
  // the image with its tag or digest, its repository, each path above, the host, "*.domain", then
  // "default".
  kube::Result<void> Check(const Reference& reference) const;

 private:
  enum class Requirement { kAccept, kReject, kSignature };

  std::map<std::string, Requirement, std::less<>> scopes_;
  Requirement default_ = Requirement::kAccept;
};

}  // namespace inspection
