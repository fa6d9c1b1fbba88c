// SPDX-License-Identifier: Apache-2.0
// Label selectors of API objects, as an API server matches them. Written without the product's own
// code, which is what a simulation tests.
#pragma once

#include "kube/types/unstructured.h"

namespace sim {

// `selector`: a LabelSelector; an empty one selects all. `labels`: a map of strings. An unknown
// operator ends the program.
bool Selects(const kube::Json& selector, const kube::Json& labels);

// metadata.labels; empty if there are none.
const kube::Json& LabelsOf(const kube::Json& object);

}  // namespace sim
