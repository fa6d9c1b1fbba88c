// SPDX-License-Identifier: Apache-2.0
#include "console/access/read_client.h"

#include <algorithm>
#include <chrono>

namespace console {

using kube::Async;
using kube::Error;
using kube::Result;

Async<kube::ApiResponse> ReadClient::Call(kube::ApiRequest request) {
  co_await kube::IgnoreCancellation();
  if (request.method != kube::Method::kGet)
    co_return Error::PermissionDenied("the console only reads");
  if (read_bytes_ >= limits_.bytes)
    co_return Error::Invalid("the answer needs more than " +
                             std::to_string(limits_.bytes / (1024 * 1024)) +
                             " MiB of the cluster's objects: choose a namespace or a selector");
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(limits_.deadline - clock_.Now());
  if (left.count() <= 0) co_return Error::DeadlineExceeded("the API server did not answer in time");
  request.timeout = std::min(request.timeout, left);
  request.authorization = authorization_;
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
  if (response) read_bytes_ += response->body.size();
  co_return response;
}

Async<std::unique_ptr<kube::WatchStream>> ReadClient::Watch(kube::ApiRequest) {
  co_await kube::IgnoreCancellation();
  co_return Error::PermissionDenied("the console does not watch");
}

}  // namespace console
