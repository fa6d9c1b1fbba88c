// SPDX-License-Identifier: Apache-2.0
// metav1.LabelSelector to and from JSON, and its rules. Matching is in placement/selector.h.
#pragma once

#include <string>

#include "api/field_error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace api {

// What does not fit the shape of a selector is left out and named in `problems`; `path` is the
// selector's own field.
kube::meta::LabelSelector LabelSelectorFromJson(const kube::Json& json, const std::string& path,
                                                FieldErrors& problems);
kube::Json LabelSelectorToJson(const kube::meta::LabelSelector& selector);

// The API server's own rules for a selector: keys and values are labels, In and NotIn have values,
// Exists and DoesNotExist have none. A selector that breaks one cannot be an objectSelector or
// namespaceSelector of a webhook.
void ValidateLabelSelector(const kube::meta::LabelSelector& selector, const std::string& path,
                           FieldErrors& problems);

// "example.com/name" and "name"; the prefix is a DNS name, the name has at most 63 characters.
bool IsLabelKey(std::string_view key);
// Empty, or at most 63 of [A-Za-z0-9._-] that begin and end alphanumeric.
bool IsLabelValue(std::string_view value);

}  // namespace api
