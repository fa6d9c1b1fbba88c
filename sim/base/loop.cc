// SPDX-License-Identifier: Apache-2.0
#include "sim/base/loop.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace sim {
namespace {

// A burst of a thousand pods takes some hundred thousand.
constexpr uint64_t kMaxHandlersAtOneTime = 20'000'000;

}  // namespace

Loop::Lane::~Lane() { std::erase(loop_.ready_, this); }

void Loop::Lane::Wake() {
  if (ready_ || held_) return;
  ready_ = true;
  loop_.ready_.push_back(this);
}

void Loop::Lane::Hold(bool held) {
  held_ = held;
  if (!held) {
    Wake();
    return;
  }
  ready_ = false;
  std::erase(loop_.ready_, this);
}

Loop::Loop(Random random) : random_(random) {}

Loop::Event Loop::At(kube::TimePoint when, std::function<void()> happen) {
  Event event(std::max(when, now_), ++last_event_);
  events_.emplace(event, std::move(happen));
  return event;
}

void Loop::RunUntil(kube::TimePoint when) {
  while (true) {
    RunReady();
    auto next = events_.begin();
    if (next == events_.end() || next->first.first > when) break;
    now_ = next->first.first;
    std::function<void()> happen = std::move(next->second);
    events_.erase(next);
    happen();
  }
  now_ = std::max(now_, when);
}

void Loop::RunReady() {
  const uint64_t begin = handlers_;
  while (!ready_.empty()) {
    size_t chosen = random_.Below(ready_.size());
    Lane* lane = ready_[chosen];
    if (lane->io_.stopped()) lane->io_.restart();
    if (lane->io_.poll_one() > 0) {
      ++handlers_;
      CHECK_LT(handlers_ - begin, kMaxHandlersAtOneTime) << "time stands still for ever";
      continue;
    }
    // A handler of the lane may have held it.
    lane->ready_ = false;
    std::erase(ready_, lane);
  }
}

}  // namespace sim
