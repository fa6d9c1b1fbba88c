// SPDX-License-Identifier: Apache-2.0
// YAML documents as JSON, with kubectl's reading of plain scalars (true, 1 and null are not
// strings; "1" is).
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace kube {

// All non-empty documents of `text`, in order. kInvalid with line and column where it does not
// parse, or has more than 1000 documents, a million values or 200 levels, once its aliases are
// replaced by what they mean.
Result<std::vector<Json>> ParseYamlDocuments(const std::string& text);

}  // namespace kube
