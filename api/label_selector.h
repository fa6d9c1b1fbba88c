// SPDX-License-Identifier: Apache-2.0
// metav1.LabelSelector to and from JSON, and its rules. Matching is in placement/selector.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace api {

// Limits of the CRDs, far above what a user writes: they bound the cost of one selector at every
// pod.
inline constexpr size_t kMaxSelectorEntries = 100;  // matchExpressions, and matchLabels
inline constexpr size_t kMaxSelectorValues = 1000;  // of one expression

// Parts of a wrong type are left out and listed in `problems`. `path` is the path of the selector.
kube::meta::LabelSelector LabelSelectorFromJson(const kube::Json& json, const std::string& path,
                                                FieldErrors& problems);
kube::Json LabelSelectorToJson(const kube::meta::LabelSelector& selector);
// As in a query, and as kubectl has it: "app=web,tier in (a,b),!old". "" without requirements.
std::string LabelSelectorToText(const kube::meta::LabelSelector& selector);

// The API server's rules for a selector: keys and values are valid labels, In and NotIn have
// values, Exists and DoesNotExist have none. The API server refuses a webhook whose objectSelector
// or namespaceSelector breaks one.
void ValidateLabelSelector(const kube::meta::LabelSelector& selector, const std::string& path,
                           FieldErrors& problems);

// "name" or "example.com/name": the prefix is a DNS name, the name has at most 63 characters.
bool IsLabelKey(std::string_view key);
// Empty, or at most 63 of [A-Za-z0-9._-], of which the first and the last are alphanumeric.
bool IsLabelValue(std::string_view value);
// RFC 1123, as the names of most objects: at most 253 characters, dot-separated labels of
// lower-case letters, digits and inner '-'.
bool IsDnsSubdomain(std::string_view name);

}  // namespace api
