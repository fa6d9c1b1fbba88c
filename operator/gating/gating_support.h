// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace operator_ {

// Whether policies can add the gates.
enum class GatingSupport {
  kUnknown,     // not asked yet
  kSupported,   // the API server has applied a policy
  kNotServed,   // it does not know MutatingAdmissionPolicies, or the operator may not use them
  kNotInForce,  // it stores them, but does not apply them
};

}  // namespace operator_
