// SPDX-License-Identifier: Apache-2.0
// AnswerSlots: how many questions are answered at a time, of one owner and in all: an answer needs
// memory, and loads the API server. Thread: one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/slots.h"

namespace console {

struct AnswerSlotsOptions {
  size_t in_all = 3;
  size_t of_owner = 2;
  // Of one owner; more are refused at once.
  size_t waiting_of_owner = 4;
  std::chrono::milliseconds timeout{15'000};
};

class AnswerSlots {
 public:
  AnswerSlots(kube::Executor executor, kube::Clock& clock, AnswerSlotsOptions options = {});

  // Until the last copy of the lease is destroyed. Errors: kThrottled if too many of the owner
  // wait, kUnavailable after the timeout, kCancelled.
  kube::Async<kube::Slots::Lease> Acquire(std::string owner);

  // Owners with questions.
  size_t owners() const { return owners_.size(); }

 private:
  kube::Executor executor_;
  kube::Clock& clock_;
  AnswerSlotsOptions options_;
  std::shared_ptr<kube::Slots> all_;
  std::map<std::string, std::shared_ptr<kube::Slots>> owners_;
};

}  // namespace console
