// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/cross_namespace_quota.h"

#include <optional>
#include <string_view>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "kube/types/quantity.h"
#include "placement/selector.h"
#include "scheduling-policies/index.h"
#include "scheduling-policies/target.h"
#include "scheduling-policies/warnings.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

constexpr std::string_view kScope = "CrossNamespacePodAffinity";
constexpr std::chrono::seconds kCallTimeout{2};
constexpr size_t kMaxQuotas = 20'000;      // read for one policy
constexpr size_t kMaxNamespaceReads = 50;  // for one policy
constexpr size_t kMaxNamed = 3;

struct FullQuota {
  std::string ns;
  std::string name;
  std::string used_up;
};

bool HasScope(const Json& quota) {
  for (const Json& scope : kube::ListAt(quota, "spec.scopes")) {
    if (scope == kScope) return true;
  }
  for (const Json& expression : kube::ListAt(quota, "spec.scopeSelector.matchExpressions")) {
    if (kube::StringAt(expression, "scopeName") == kScope) return true;
  }
  return false;
}

// The quotas without room in `ns`, or in all namespaces. Those found before an error are in `full`.
Async<> FindFullQuotas(kube::Client& client, kube::Clock& clock, std::string ns,
                       kube::TimePoint deadline, std::vector<FullQuota>& full) {
  kube::ListOptions options{.ns = std::move(ns), .page_timeout = kCallTimeout};
  kube::ListPages pages(client, kube::kResourceQuotas, std::move(options), /*protobuf=*/false);
  size_t read = 0;
  while (pages.more()) {
    if (clock.Now() >= deadline) co_return Error::DeadlineExceeded("it takes too long");
    if (read >= kMaxQuotas) co_return Error::Invalid("there are too many ResourceQuotas");
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    read += page->items.size();
    for (const std::string& item : page->items) {
      if (item.find(kScope) == std::string::npos) continue;  // most quotas: not worth parsing
      Result<Json> quota = kube::ParseJson(item);
      if (!quota) continue;
      std::string used_up = UsedUpForCrossNamespaceAffinity(*quota);
      if (used_up.empty()) continue;
      full.push_back({kube::StringAt(*quota, "metadata.namespace"),
                      kube::StringAt(*quota, "metadata.name"), std::move(used_up)});
    }
  }
  co_return Ok();
}

// Whether the cluster policy selects pods of `ns`.
Async<bool> Selects(kube::Client& client, const policy::SchedulingPolicy& policy, std::string ns,
                    const std::string& operator_namespace) {
  using kube::core::Namespace;
  kube::ApiRequest request{.target = kube::kNamespaces.Path("", ns),
                           .accept = std::string(kube::kContentType<Namespace>),
                           .timeout = kCallTimeout};
  Result<Namespace> found = co_await kube::CallFor<Namespace>(client, std::move(request));
  if (IsNotFound(found)) co_return false;
  if (!found) co_return found.error();
  const placement::Labels& labels = found->metadata().labels();
  if (policy::IsExcludedNamespace(ns, labels, operator_namespace)) co_return false;
  co_return placement::Matches(*policy.namespace_selector, labels);
}

std::string Warning(const FullQuota& quota) {
  return "pods with this policy's affinity to other namespaces are refused in namespace " +
         quota.ns + ": ResourceQuota " + quota.name + " has no room (" + quota.used_up + ")";
}

}  // namespace

std::string UsedUpForCrossNamespaceAffinity(const Json& quota) {
  if (!HasScope(quota)) return "";
  // As admission: what the quota controller has seen. A new quota has no status yet.
  const Json* hard = kube::Find(quota, "status.hard");
  if (hard == nullptr) hard = kube::Find(quota, "spec.hard");
  if (hard == nullptr || !hard->is_object()) return "";
  const Json* all_used = kube::Find(quota, "status.used");
  for (const auto& [resource, limit] : hard->items()) {
    if (!limit.is_string()) continue;
    std::string used = "0";
    if (all_used != nullptr && all_used->is_object() && all_used->contains(resource) &&
        (*all_used)[resource].is_string())
      used = (*all_used)[resource].get<std::string>();
    std::optional<double> used_value = kube::ParseQuantity(used);
    std::optional<double> limit_value = kube::ParseQuantity(limit.get<std::string>());
    if (used_value && limit_value && *used_value >= *limit_value)
      return resource + ": " + used + " of " + limit.get<std::string>() + " used";
  }
  return "";
}

Async<std::vector<std::string>> QuotaWarnings(kube::Client& client, kube::Clock& clock,
                                              const policy::SchedulingPolicy& policy,
                                              const std::string& operator_namespace,
                                              kube::TimePoint deadline) {
  std::vector<std::string> warnings;
  if (!policy::CanSelect(policy) || policy::CrossNamespaceTerms(policy.criteria).empty())
    co_return warnings;

  std::vector<FullQuota> full;
  Result<> complete = co_await FindFullQuotas(client, clock, policy.ns, deadline, full);
  std::string judged;  // the last namespace; quotas are listed by namespace
  size_t reads = 0;
  for (const FullQuota& quota : full) {
    if (warnings.size() == kMaxNamed) break;
    if (quota.ns == judged) continue;
    judged = quota.ns;
    if (policy.of_cluster()) {
      if (reads++ >= kMaxNamespaceReads || clock.Now() >= deadline) {
        complete = Error::DeadlineExceeded("too many have no room");
        break;
      }
      Result<bool> selected = co_await Selects(client, policy, quota.ns, operator_namespace);
      if (!selected) complete = selected.error();
      if (!selected || !*selected) continue;
    }
    warnings.push_back(Warning(quota));
  }
  if (!complete && warnings.size() < kMaxNamed) {
    warnings.push_back("not all ResourceQuotas of scope " + std::string(kScope) +
                       " could be checked: " + complete.error().message());
  }
  co_return warnings;
}

}  // namespace operator_
