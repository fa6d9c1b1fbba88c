// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/base/error.h"

namespace inspection {

// Whether a server did not answer: kUnavailable, kThrottled, kDeadlineExceeded. It does if it
// denies that there is an image, or access to it.
inline bool IsOutage(const kube::Error& error) {
  return error.code() == kube::Code::kUnavailable || error.code() == kube::Code::kThrottled ||
         error.code() == kube::Code::kDeadlineExceeded;
}

}  // namespace inspection
