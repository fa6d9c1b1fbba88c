// SPDX-License-Identifier: Apache-2.0
// ReadClient: the client of one question: it reads what the user may read, and no more than a
// budget. Thread: that of the client below it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace console {

// Of an answer, in bytes of responses. As objects, they need up to fourteen times as much memory.
// What the administrators and the operator write, nodes and facts about images, does not count.
struct ReadLimits {
  // Lists of pods; many answers keep none of them.
  size_t of_pods = 6 * 1024 * 1024;
  // All else.
  size_t of_others = 6 * 1024 * 1024;
  kube::TimePoint deadline;
};

class ReadClient final : public kube::Client {
 public:
  // `authorization`: of the user, as in a header; "" for the credentials of `client`. The
  // references outlive it.
  ReadClient(kube::Client& client, kube::Clock& clock, std::string authorization, ReadLimits limits)
      : client_(client), clock_(clock), authorization_(std::move(authorization)), left_(limits) {}

  // Errors: also kPermissionDenied for what is no GET, kInvalid beyond the budget, and
  // kDeadlineExceeded.
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override;
  // Always kPermissionDenied: an answer ends.
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override;

 private:
  kube::Client& client_;
  kube::Clock& clock_;
  std::string authorization_;
  ReadLimits left_;
};

}  // namespace console
