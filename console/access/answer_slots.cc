// SPDX-License-Identifier: Apache-2.0
#include "console/access/answer_slots.h"

#include <utility>

namespace console {

using kube::Async;
using kube::Error;
using kube::Result;
using kube::Slots;

namespace {

Error Busy(const Error& error, const std::string& what) {
  if (error.code() != kube::Code::kDeadlineExceeded) return error;
  return Error::Unavailable(what + ": try again later");
}

}  // namespace

AnswerSlots::AnswerSlots(kube::Executor executor, kube::Clock& clock, AnswerSlotsOptions options)
    : executor_(std::move(executor)),
      clock_(clock),
      options_(options),
      all_(std::make_shared<Slots>(executor_, clock_, options_.in_all, "an answer")) {}

Async<Slots::Lease> AnswerSlots::Acquire(std::string owner) {
  co_await kube::IgnoreCancellation();
  std::erase_if(owners_, [](const auto& entry) {
    return entry.second->busy() == 0 && entry.second->waiting() == 0;
  });
  std::shared_ptr<Slots>& entry = owners_[owner];
  if (entry == nullptr)
    entry = std::make_shared<Slots>(executor_, clock_, options_.of_owner, "an answer");
  const std::shared_ptr<Slots> own = entry;
  if (own->waiting() >= options_.waiting_of_owner)
    co_return Error::Throttled(owner + " has " +
                               std::to_string(options_.of_owner + options_.waiting_of_owner) +
                               " questions already");
  const kube::TimePoint deadline = clock_.Now() + options_.timeout;
  Result<Slots::Lease> of_owner = co_await own->Acquire(deadline);
  if (!of_owner) co_return Busy(of_owner.error(), owner + " has other questions");
  Result<Slots::Lease> of_all = co_await all_->Acquire(deadline);
  if (!of_all) co_return Busy(of_all.error(), "the console answers others");
  co_return std::make_shared<std::pair<Slots::Lease, Slots::Lease>>(std::move(*of_owner),
                                                                    std::move(*of_all));
}

}  // namespace console
