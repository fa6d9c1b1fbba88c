// SPDX-License-Identifier: Apache-2.0
// The AdmissionReview in which an API server tells a webhook about a write.
#pragma once

#include <string>

#include "kube/testing/fake_admission.h"
#include "kube/types/unstructured.h"

namespace sim {

// `object`: as earlier webhooks have changed it; null for a DELETE.
kube::Json ReviewOf(const std::string& uid, const kube::AdmissionAttributes& asked,
                    const kube::Json& object);

}  // namespace sim
