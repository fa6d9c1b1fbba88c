// SPDX-License-Identifier: Apache-2.0
// YAML documents as JSON. Plain scalars have kubectl's types: true, 1 and null are not strings, "1"
// is.
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace kube {

// All non-empty documents of `text`, in order. Errors: kInvalid with line and column for bad
// syntax, and for more than 1000 documents, a million values or 200 levels, counted after alias
// expansion.
Result<std::vector<Json>> ParseYamlDocuments(const std::string& text);

// One document, with a line end. Every text that a parser could take for another type is quoted.
std::string ToYaml(const Json& json);

}  // namespace kube
