// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/answering.h"

#include <algorithm>
#include <iterator>

namespace fleet::cel {

using kube::TimePoint;

std::optional<Answering::Turn> Answering::Begin(const std::string& ns, TimePoint now) {
  if (answered_->contains(ns)) return std::nullopt;
  std::erase_if(waiting_, [&](const Waiting& one) { return one.asked + kForget <= now; });
  auto place = std::find_if(waiting_.begin(), waiting_.end(),
                            [&](const Waiting& one) { return one.ns == ns; });
  const size_t before = std::distance(waiting_.begin(), place);
  if (answered_->size() + before >= max_) {
    if (place == waiting_.end()) place = waiting_.insert(place, {.ns = ns, .asked = now});
    place->asked = now;
    return std::nullopt;
  }
  if (place != waiting_.end()) waiting_.erase(place);
  answered_->insert(ns);
  return Turn(nullptr, [answered = answered_, ns](void*) { answered->erase(ns); });
}

bool Answering::Busy(const std::string& ns, TimePoint now) const {
  return answered_->contains(ns) ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Waiting& one) { return one.ns == ns && now < one.asked + kRetry; });
}

bool Answering::Over(TimePoint start, TimePoint now) const {
  return start + kMaxTurn <= now &&
         std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Waiting& one) { return now < one.asked + kForget; });
}

}  // namespace fleet::cel
