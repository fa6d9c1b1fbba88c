// SPDX-License-Identifier: Apache-2.0
// The reviews of access by which programs ask an API server about rights: requests without an
// object. Here everyone may do everything: the rights that the operator's objects give are checked
// by what is committed.
#pragma once

#include <optional>

#include "kube/client/client.h"

namespace sim {

// The answer to a SubjectAccessReview or SelfSubjectAccessReview; nullopt for any other request.
std::optional<kube::ApiResponse> AnswerAccessReview(const kube::ApiRequest& request);

}  // namespace sim
