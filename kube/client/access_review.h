// SPDX-License-Identifier: Apache-2.0
// Asks the API server what a user may do.
#pragma once

#include <chrono>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace kube {

// The user part of a SubjectAccessReview's spec. `user`: as in a TokenReview or an AdmissionReview,
// with username, uid, groups and extra.
Json SubjectOf(const Json& user);

// Sends a review (TokenReview, SubjectAccessReview, ...) and returns it with its status.
Async<Json> PostReview(Client& client, Resource resource, Json spec,
                       std::chrono::milliseconds timeout);

// `attributes`: the resourceAttributes of a SubjectAccessReview.
// Errors: the API server's, such as kPermissionDenied if the caller may not ask.
Async<bool> MayAccess(Client& client, Json user, Json attributes,
                      std::chrono::milliseconds timeout);

}  // namespace kube
