// SPDX-License-Identifier: Apache-2.0
#include "fleet/scores/usage.h"

#include <algorithm>
#include <cmath>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"
#include "kube/types/quantity.h"

namespace fleet {
namespace {

using kube::Json;

constexpr int64_t kMaxAmount = 1'000'000'000'000;
constexpr double kKib = 1024;
constexpr double kMilli = 1e-3;
constexpr size_t kMaxContainers = 1000;

std::string TextAt(const Json& object, const std::string& key) {
  auto found = object.find(key);  // the key may have dots
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A quantity of a resource list in multiples of `unit`; 0 if it is absent or malformed.
int64_t AmountOf(const Json& list, const std::string& resource, double unit, bool round_up) {
  auto found = list.find(resource);
  if (found == list.end()) return 0;
  std::optional<double> quantity;
  if (found->is_string()) quantity = kube::ParseQuantity(found->get_ref<const std::string&>());
  if (found->is_number()) quantity = found->get<double>();
  if (!quantity || !(*quantity > 0)) return 0;
  // 0.1 cores are 100 millicores, and not a little more
  double amount = *quantity / unit;
  double nearest = std::round(amount);
  if (std::abs(amount - nearest) < 1e-6 * std::max(1.0, amount)) amount = nearest;
  amount = round_up ? std::ceil(amount) : std::floor(amount);
  return static_cast<int64_t>(std::min(amount, static_cast<double>(kMaxAmount)));
}

Resources ReadResources(const Json& list, bool round_up) {
  return {.milli_cpu = AmountOf(list, "cpu", kMilli, round_up),
          .kib = AmountOf(list, "memory", kKib, round_up)};
}

Resources Sum(const Resources& a, const Resources& b) {
  return {std::min(a.milli_cpu + b.milli_cpu, kMaxAmount), std::min(a.kib + b.kib, kMaxAmount)};
}

Resources Max(const Resources& a, const Resources& b) {
  return {std::max(a.milli_cpu, b.milli_cpu), std::max(a.kib, b.kib)};
}

template <class Visit>
void ForEachItem(const Json& object, std::string_view path, Visit visit) {
  const Json& list = kube::ListAt(object, path);
  size_t count = std::min(list.size(), kMaxContainers);
  for (size_t i = 0; i < count; ++i) visit(list[i]);
}

Resources RequestsOf(const Json& pod) {
  Resources running;
  ForEachItem(pod, "spec.containers", [&](const Json& container) {
    running = Sum(running, ReadResources(kube::ObjectAt(container, "resources.requests"), true));
  });
  Resources sidecars;
  Resources starting;  // the most at any time of the start
  ForEachItem(pod, "spec.initContainers", [&](const Json& container) {
    Resources requests = ReadResources(kube::ObjectAt(container, "resources.requests"), true);
    if (kube::StringAt(container, "restartPolicy") == "Always") {
      sidecars = Sum(sidecars, requests);
      starting = Max(starting, sidecars);
    } else {
      starting = Max(starting, Sum(sidecars, requests));
    }
  });
  Resources requests = Max(Sum(running, sidecars), starting);
  const Json& own = kube::ObjectAt(pod, "spec.resources.requests");
  Resources of_pod = ReadResources(own, true);
  if (own.contains("cpu")) requests.milli_cpu = of_pod.milli_cpu;
  if (own.contains("memory")) requests.kib = of_pod.kib;
  return Sum(requests, ReadResources(kube::ObjectAt(pod, "spec.overhead"), true));
}

std::string WorkloadOf(const Json& pod) {
  std::string prefix = kube::StringAt(pod, "metadata.namespace") + "/";
  std::string workload = prefix + "Pod/" + kube::StringAt(pod, "metadata.name");
  ForEachItem(pod, "metadata.ownerReferences", [&](const Json& owner) {
    if (!kube::BoolAt(owner, "controller")) return;
    std::string kind = kube::StringAt(owner, "kind");
    std::string name = kube::StringAt(owner, "name");
    // A Deployment names its ReplicaSets with the hash of their templates.
    std::string hash = "-" + TextAt(kube::ObjectAt(pod, "metadata.labels"), "pod-template-hash");
    if (kind == "ReplicaSet" && hash.size() > 1 && name.size() > hash.size() &&
        name.ends_with(hash)) {
      kind = "Deployment";
      name.resize(name.size() - hash.size());
    }
    workload = kind == "Node" ? "" : prefix + kind + "/" + name;
  });
  return workload;
}

}  // namespace

int ArchitectureIndex(std::string_view name) {
  auto found = std::find(kScoredArchitectures.begin(), kScoredArchitectures.end(), name);
  return found == kScoredArchitectures.end()
             ? -1
             : static_cast<int>(found - kScoredArchitectures.begin());
}

NodeUsage NodeUsage::FromJson(const Json& node) {
  NodeUsage usage;
  const Json& labels = kube::ObjectAt(node, "metadata.labels");
  usage.architecture = ArchitectureIndex(TextAt(labels, std::string(api::kArchLabel)));
  usage.usable = kube::ConditionStatus(node, "Ready") == "True" &&
                 !kube::BoolAt(node, "spec.unschedulable") &&
                 kube::StringAt(node, "metadata.deletionTimestamp").empty();
  usage.allocatable = ReadResources(kube::ObjectAt(node, "status.allocatable"), false);
  return usage;
}

PodUsage PodUsage::FromJson(const Json& pod) {
  PodUsage usage;
  std::string phase = kube::StringAt(pod, "status.phase");
  if (phase == "Succeeded" || phase == "Failed") return usage;
  usage.node = kube::StringAt(pod, "spec.nodeName");
  usage.requests = RequestsOf(pod);
  const Json* gates = kube::Find(pod, "spec.schedulingGates");
  if (gates == nullptr || gates->empty()) usage.workload = WorkloadOf(pod);
  const Json& labels = kube::ObjectAt(pod, "metadata.labels");
  for (size_t i = 0; i < kScoredArchitectures.size(); ++i) {
    if (labels.contains(std::string(api::kLabelPrefix) + std::string(kScoredArchitectures[i])))
      usage.architectures |= 1u << i;
  }
  return usage;
}

}  // namespace fleet
