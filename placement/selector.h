// SPDX-License-Identifier: Apache-2.0
// Label selectors, evaluated as the API server does.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"

namespace placement {

using Labels = google::protobuf::Map<std::string, std::string>;

// True if `labels` satisfy all requirements of `selector`; an empty selector matches everything.
// NotIn and DoesNotExist match labels without the key. kInvalid for an unknown operator: such a
// selector selects nothing.
kube::Result<bool> Matches(const kube::meta::LabelSelector& selector, const Labels& labels);

}  // namespace placement
