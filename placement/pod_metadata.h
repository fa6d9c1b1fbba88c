// SPDX-License-Identifier: Apache-2.0
// Labels and annotations of a pod, within the limits of the API server: a refused update would
// leave the pod gated.
#pragma once

#include <string>
#include <string_view>

#include "kube/types/core.pb.h"

namespace placement {

void SetLabel(kube::core::Pod& pod, std::string_view key, std::string_view value);
void RemoveLabel(kube::core::Pod& pod, std::string_view key);
// "" if absent.
std::string_view LabelOf(const kube::core::Pod& pod, std::string_view key);

bool HasLabel(const kube::core::Pod& pod, std::string_view key);

// Returns: false, with the pod unchanged, if its annotations would exceed the API's 256 KiB.
bool SetAnnotation(kube::core::Pod& pod, std::string_view key, std::string_view value);
void RemoveAnnotation(kube::core::Pod& pod, std::string_view key);
// "" if absent.
std::string_view AnnotationOf(const kube::core::Pod& pod, std::string_view key);

}  // namespace placement
