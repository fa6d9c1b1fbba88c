// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/term_client.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace kube {

Async<ApiResponse> TermClient::Call(ApiRequest request) {
  if (request.method != Method::kGet) {
    if (!elector_.MayWrite()) {
      co_return Error::FromHttpStatus(
          503, std::string(kLeaseNotHeld),
          "not written: the lease " + elector_.lease() + " was not renewed in time");
    }
    auto held = std::chrono::floor<std::chrono::milliseconds>(elector_.HeldFor());
    request.timeout = std::min(request.timeout, held);
  }
  co_return co_await client_.Call(std::move(request));
}

Async<std::unique_ptr<WatchStream>> TermClient::Watch(ApiRequest request) {
  return client_.Watch(std::move(request));
}

}  // namespace kube
