// SPDX-License-Identifier: Apache-2.0
#include "plugin/status/waiting_summary.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "kube/types/resource.h"
#include "placement/pod_metadata.h"

namespace plugin {
namespace {

constexpr size_t kMaxHost = 300;  // a DNS name and a port
constexpr char kOthers[] = "others";

}  // namespace

std::string RegistryIn(std::string_view inspection_error) {
  constexpr std::string_view kBefore = "registry ";
  const size_t at = inspection_error.find(kBefore);
  if (at == std::string_view::npos) return "";
  std::string_view host = inspection_error.substr(at + kBefore.size());
  host = host.substr(0, host.find_first_of(" ,"));
  while (host.ends_with(':')) host.remove_suffix(1);
  return host.size() <= kMaxHost ? std::string(host) : "";
}

void WaitingSummary::Add(const kube::core::Pod& pod, const Cause& cause, kube::WallTime now) {
  ++pods_;
  const kube::WallTime created{std::chrono::seconds(pod.metadata().creation_timestamp().seconds())};
  const auto age = std::chrono::floor<std::chrono::seconds>(now - created);
  WaitingLine& line = lines_[cause.name];
  line.cause = cause.name;
  if (line.pods++ == 0 || age > line.oldest) {
    line.oldest = age;
    line.example = kube::KeyOf(pod).ToString();
  }
  const std::string registry =
      RegistryIn(placement::AnnotationOf(pod, api::kInspectErrorAnnotation));
  if (registry.empty()) return;
  const bool is_named = registries_.contains(registry) || registries_.size() < kMaxRegistries;
  ++registries_[is_named ? registry : kOthers];
}

std::vector<WaitingLine> WaitingSummary::Lines() const {
  std::vector<WaitingLine> sorted;
  for (const auto& [name, line] : lines_) sorted.push_back(line);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const WaitingLine& a, const WaitingLine& b) { return a.pods > b.pods; });
  return sorted;
}

}  // namespace plugin
