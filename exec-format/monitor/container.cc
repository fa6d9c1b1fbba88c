// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/container.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace exec_format {
namespace {

constexpr size_t kIdSize = 64;
constexpr size_t kUidSize = 36;

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// With systemd, the name of the runtime is before the ID.
struct Runtime {
  std::string_view prefix;
  std::string_view name;
};
constexpr Runtime kRuntimes[] = {
    {"cri-containerd-", "containerd"}, {"crio-", "cri-o"}, {"docker-", "docker"}, {"", "cri"}};

// "cri-containerd-0123….scope", or "0123…" without systemd; "" if it is the cgroup of no container.
std::string ContainerIdOf(std::string_view cgroup) {
  constexpr std::string_view kScope = ".scope";
  if (cgroup.ends_with(kScope)) cgroup.remove_suffix(kScope.size());
  for (const Runtime& runtime : kRuntimes) {
    if (cgroup.size() != runtime.prefix.size() + kIdSize || !cgroup.starts_with(runtime.prefix))
      continue;
    std::string_view id = cgroup.substr(runtime.prefix.size());
    if (std::all_of(id.begin(), id.end(), IsHex))
      return std::string(runtime.name) + "://" + std::string(id);
  }
  return "";
}

// "kubepods-burstable-pod15778196_6e1f_4b5d_8012_12c7bf5c04b3.slice", or without systemd
// "pod15778196-6e1f-4b5d-8012-12c7bf5c04b3"; "" if it is not the cgroup of a pod.
std::string PodUidOf(std::string_view cgroup) {
  constexpr std::string_view kSlice = ".slice";
  constexpr std::string_view kPod = "pod";
  if (cgroup.ends_with(kSlice)) cgroup.remove_suffix(kSlice.size());
  if (cgroup.size() < kPod.size() + kUidSize) return "";
  std::string uid(cgroup.substr(cgroup.size() - kUidSize));
  cgroup.remove_suffix(kUidSize);
  if (!cgroup.ends_with(kPod)) return "";
  cgroup.remove_suffix(kPod.size());
  if (!cgroup.empty() && !cgroup.ends_with('-')) return "";
  std::replace(uid.begin(), uid.end(), '_', '-');
  for (size_t i = 0; i < uid.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? uid[i] != '-' : !IsHex(uid[i])) return "";
  }
  return uid;
}

}  // namespace

std::optional<Container> ContainerOf(const ExecError& error) {
  if (!error.whole) return std::nullopt;
  for (size_t outer = error.cgroups.size(); outer-- > 1;) {
    Container container{.id = ContainerIdOf(error.cgroups[outer - 1]),
                        .pod_uid = PodUidOf(error.cgroups[outer])};
    if (!container.id.empty() && !container.pod_uid.empty()) return container;
  }
  return std::nullopt;
}

}  // namespace exec_format
