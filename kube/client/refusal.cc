// SPDX-License-Identifier: Apache-2.0
#include "kube/client/refusal.h"

namespace kube {

bool IsRefusal(const Error& error) {
  switch (error.code()) {
    case Code::kInvalid:
    case Code::kInternal:
      return true;
    case Code::kPermissionDenied:
      return !LacksPermission(error);
    default:
      return false;
  }
}

bool LacksPermission(const Error& error) {
  if (error.code() != Code::kPermissionDenied) return false;
  if (!error.reason().empty() && error.reason() != "Forbidden") return false;
  // The authorizer's Status differs from that of admission only in its message:
  // `pods "web" is forbidden: User "x" cannot update resource ...`.
  return error.message().find(" is forbidden: User \"") != std::string::npos;
}

bool FailsAgain(const Error& error) {
  return IsRefusal(error) || LacksPermission(error) || error.code() == Code::kNotFound;
}

}  // namespace kube
