// SPDX-License-Identifier: Apache-2.0
// The answers of `kubectl placement simulate`, for people and as JSON. Pure.
#pragma once

#include <string>

#include "kube/types/unstructured.h"
#include "plugin/simulate/simulate_config.h"
#include "plugin/simulate/simulate_pod.h"
#include "plugin/text/style.h"

namespace plugin {

std::string Say(const Outcome& outcome, Style style = {});
kube::Json AsJson(const Outcome& outcome);

std::string Say(const ConfigOutcome& outcome, Style style = {});
kube::Json AsJson(const ConfigOutcome& outcome);

}  // namespace plugin
