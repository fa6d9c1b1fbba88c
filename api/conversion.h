// SPDX-License-Identifier: Apache-2.0
// ClusterPodPlacementConfig between v1alpha1 and v1beta1. v1alpha1 has logVerbosity and
// namespaceSelector only; what v1beta1 has beside them travels in annotations, so that reading and
// writing back through v1alpha1 loses nothing: fallbackArchitecture in the one that the Go operator
// uses, which users of v1alpha1 may write, all else as JSON in one of ours.
#pragma once

#include <string_view>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace api {

// `object` as `api_version` ("multiarch.openshift.io/v1beta1") shows it; metadata but for that
// annotation, and status, stay as they are. kInvalid for other kinds and versions, and for an
// annotation that does not hold a valid spec.
kube::Result<kube::Json> ConvertClusterPodPlacementConfig(kube::Json object,
                                                          std::string_view api_version);

// The answer to a ConversionReview (apiextensions.k8s.io/v1): all objects converted, or a Failure
// that says which one could not be. kInvalid if `review` is no ConversionReview, so that there is
// no uid to answer to.
kube::Result<kube::Json> AnswerConversionReview(const kube::Json& review);

}  // namespace api
