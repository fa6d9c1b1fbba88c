// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_count.h"

#include <algorithm>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {

using kube::Async;
using kube::Json;
using kube::Result;

Async<size_t> CountPolicies(kube::Client& client, std::string ns,
                            std::chrono::milliseconds timeout) {
  kube::ListOptions options;
  options.ns = std::move(ns);
  std::string target = kube::ListTarget(policy::kPodSchedulingPolicies, options);
  // One row of a table, without its object, and how many more there are.
  kube::AddQuery(target, "limit", "1");
  kube::AddQuery(target, "includeObject", "None");
  kube::ApiRequest request{.target = std::move(target),
                           .accept = "application/json;as=Table;g=meta.k8s.io;v=v1",
                           .timeout = timeout};
  Result<kube::ApiResponse> response = co_await client.Call(std::move(request));
  if (!response) co_return response.error();
  Result<Json> table = kube::ParseJson(response->body);
  if (!table) co_return table.error();
  int64_t more = kube::IntAt(*table, "metadata.remainingItemCount");
  co_return kube::ListAt(*table, "rows").size() + static_cast<size_t>(std::max<int64_t>(more, 0));
}

}  // namespace operator_
