// SPDX-License-Identifier: Apache-2.0
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::core::Pod;

// Kubernetes' TotalAnnotationSizeLimitB: all keys and values together.
constexpr size_t kMaxAnnotations = 256 * 1024;

}  // namespace

void SetLabel(Pod& pod, std::string_view key, std::string_view value) {
  (*pod.mutable_metadata()->mutable_labels())[std::string(key)] = std::string(value);
}

void RemoveLabel(Pod& pod, std::string_view key) {
  pod.mutable_metadata()->mutable_labels()->erase(std::string(key));
}

std::string_view LabelOf(const Pod& pod, std::string_view key) {
  auto found = pod.metadata().labels().find(std::string(key));
  return found == pod.metadata().labels().end() ? std::string_view() : found->second;
}

bool HasLabel(const Pod& pod, std::string_view key) {
  return pod.metadata().labels().contains(std::string(key));
}

bool SetAnnotation(Pod& pod, std::string_view key, std::string_view value) {
  auto& annotations = *pod.mutable_metadata()->mutable_annotations();
  size_t total = key.size() + value.size();
  for (const auto& [other_key, other_value] : annotations) {
    if (other_key != key) total += other_key.size() + other_value.size();
  }
  if (total > kMaxAnnotations) return false;
  annotations[std::string(key)] = std::string(value);
  return true;
}

void RemoveAnnotation(Pod& pod, std::string_view key) {
  pod.mutable_metadata()->mutable_annotations()->erase(std::string(key));
}

std::string_view AnnotationOf(const Pod& pod, std::string_view key) {
  auto found = pod.metadata().annotations().find(std::string(key));
  return found == pod.metadata().annotations().end() ? std::string_view() : found->second;
}

}  // namespace placement
