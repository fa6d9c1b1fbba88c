// SPDX-License-Identifier: Apache-2.0
#include "console/access/read_client.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace console {

using kube::Async;
using kube::Error;
using kube::Result;

namespace {

// nullptr: none.
size_t* BudgetOf(std::string_view target, ReadLimits& limits) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/api/v1/nodes" || path.ends_with("/imagefacts") || path.ends_with("/imagefindings"))
    return nullptr;
  return path.ends_with("/pods") ? &limits.of_pods : &limits.of_others;
}

}  // namespace

Async<kube::ApiResponse> ReadClient::Call(kube::ApiRequest request) {
  co_await kube::IgnoreCancellation();
  if (request.method != kube::Method::kGet)
    co_return Error::PermissionDenied("the console only reads");
  size_t* left = BudgetOf(request.target, left_);
  if (left != nullptr && *left == 0)
    co_return Error::Invalid(
        "the answer would need too many of the cluster's objects: choose a namespace or a "
        "selector, or ask `kubectl placement`, which has no such limit");
  const auto time =
      std::chrono::duration_cast<std::chrono::milliseconds>(left_.deadline - clock_.Now());
  if (time.count() <= 0) co_return Error::DeadlineExceeded("the API server did not answer in time");
  request.timeout = std::min(request.timeout, time);
  request.authorization = authorization_;
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
  if (response && left != nullptr) *left -= std::min(*left, response->body.size());
  co_return response;
}

Async<std::unique_ptr<kube::WatchStream>> ReadClient::Watch(kube::ApiRequest) {
  co_await kube::IgnoreCancellation();
  co_return Error::PermissionDenied("the console does not watch");
}

}  // namespace console
