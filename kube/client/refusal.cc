// SPDX-License-Identifier: Apache-2.0
#include "kube/client/refusal.h"

namespace kube {

bool IsRefusal(const Error& error) {
  switch (error.code()) {
    case Code::kInvalid:
    case Code::kInternal:
      return true;
    // The authorizer's Status differs from that of admission only in its message:
    // `pods "web" is forbidden: User "x" cannot update resource ...`.
    case Code::kPermissionDenied:
      return error.message().find(" is forbidden: User \"") == std::string::npos;
    default:
      return false;
  }
}

}  // namespace kube
