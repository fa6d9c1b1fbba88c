// SPDX-License-Identifier: Apache-2.0
// Converts ClusterPodPlacementConfig between v1alpha1 and v1beta1. v1alpha1 has only the fields
// logVerbosity and namespaceSelector. The other fields of v1beta1 are kept in annotations: writing
// an object back as v1alpha1 loses nothing. fallbackArchitecture has the annotation of the Go
// operator, which users of v1alpha1 may write; the rest is JSON in an annotation of this operator.
#pragma once

#include <string_view>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace api {

// `object` in `api_version` ("multiarch.openshift.io/v1beta1"). Status and metadata are unchanged,
// except for these annotations. kInvalid for other kinds and versions, and for an annotation
// without a valid spec.
kube::Result<kube::Json> ConvertClusterPodPlacementConfig(kube::Json object,
                                                          std::string_view api_version);

// The response to a ConversionReview (apiextensions.k8s.io/v1): all objects converted, or a Failure
// that names the first object with an error. kInvalid if `review` is not a ConversionReview with a
// uid.
kube::Result<kube::Json> AnswerConversionReview(const kube::Json& review);

}  // namespace api
