// SPDX-License-Identifier: Apache-2.0
// WarningFeature: the webhook of ephemeral containers as a feature of the operator.
#pragma once

#include <memory>

#include "operator/feature.h"

namespace operator_ {

std::unique_ptr<Feature> NewWarningFeature();

}  // namespace operator_
