// SPDX-License-Identifier: Apache-2.0
// Objects and AdmissionReviews in the notation of scheduling-policies/testing/words.h.
#pragma once

#include <string>

#include "kube/types/unstructured.h"
#include "scheduling-policies/testing/words.h"

namespace policy {

inline constexpr char kReviewUid[] = "705ab4f5-6393-11e8-b7cc-42010a800002";

// A Deployment "web" in namespace "shop". `words`: the scheduling fields of its pod template, whose
// labels are app=`app`, tier and release; `containers`: how many, as large as they usually are.
kube::Json Workload(const std::string& words, const std::string& app = "web", int containers = 1);

// The smallest object of a resource ("pods", "apps/deployments", "batch/cronjobs") with these
// scheduling fields.
kube::Json ObjectOf(const std::string& resource, const std::string& words);

// The review of a request for `object` in its namespace.
kube::Json ReviewOf(const std::string& resource, const std::string& operation, kube::Json object);

}  // namespace policy
