// SPDX-License-Identifier: Apache-2.0
// TemplateKey(): names a workload among the pods that wait for their images: "jobs/train". No pod
// has such a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/types/resource.h"

namespace templates {

inline constexpr std::string_view kJobs = "jobs";
inline constexpr std::string_view kDaemonSets = "daemonsets";
// DaemonSets that the report inspects.
inline constexpr std::string_view kReport = "report";

inline kube::ObjectKey TemplateKey(std::string_view kind, const kube::ObjectKey& workload) {
  return {workload.ns, std::string(kind) + "/" + workload.name};
}

struct NamedWorkload {
  std::string kind;
  kube::ObjectKey key;
};

// nullopt: a pod.
inline std::optional<NamedWorkload> ParseTemplateKey(const kube::ObjectKey& key) {
  size_t slash = key.name.find('/');
  if (slash == std::string::npos) return std::nullopt;
  return NamedWorkload{key.name.substr(0, slash), {key.ns, key.name.substr(slash + 1)}};
}

}  // namespace templates
