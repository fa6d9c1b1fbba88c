// SPDX-License-Identifier: Apache-2.0
// Labels and annotations of a pod, within what the API server accepts: an update that it refuses
// gates the pod for ever.
#pragma once

#include <string>
#include <string_view>

#include "kube/types/core.pb.h"

namespace placement {

void SetLabel(kube::core::Pod& pod, std::string_view key, std::string_view value);
void RemoveLabel(kube::core::Pod& pod, std::string_view key);
// "" where absent.
std::string_view LabelOf(const kube::core::Pod& pod, std::string_view key);

// False, and the pod is unchanged, if its annotations would grow beyond the API's 256 KiB.
bool SetAnnotation(kube::core::Pod& pod, std::string_view key, std::string_view value);
void RemoveAnnotation(kube::core::Pod& pod, std::string_view key);
// "" where absent.
std::string_view AnnotationOf(const kube::core::Pod& pod, std::string_view key);

}  // namespace placement
