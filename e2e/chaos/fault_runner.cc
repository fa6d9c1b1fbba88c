// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/fault_runner.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace e2e {

using kube::Result;
using std::chrono::milliseconds;

namespace {

// Also what the log is searched for.
void Say(milliseconds now, const char* what, const std::string& text) {
  std::printf("%7.1f s  %s %s\n", std::chrono::duration<double>(now).count(), what, text.c_str());
  std::fflush(stdout);
}

}  // namespace

FaultRunner::FaultRunner(Stage& stage, const std::vector<FaultKind>& kinds,
                         std::vector<PlannedFault> plan, PodWaits& waits)
    : stage_(stage), kinds_(kinds), plan_(std::move(plan)), waits_(waits) {}

void FaultRunner::Step(milliseconds now) {
  for (size_t i = 0; i < active_.size();) {
    if (active_[i].end > now) {
      ++i;
      continue;
    }
    const Active ended = active_[i];
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    End(ended, now);
  }
  while (next_ < plan_.size() && plan_[next_].begin <= now) Begin(plan_[next_++], now);
}

void FaultRunner::Begin(const PlannedFault& planned, milliseconds now) {
  auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&planned](const FaultKind& one) {
    return one.outline.name == planned.kind;
  });
  Result<EndFault> begun = kind->begin(stage_, planned.pick);
  if (!begun) {
    Say(now, "not possible:", planned.kind + ": " + begun.error().ToString());
    ++not_possible_[planned.kind][std::string(kube::CodeName(begun.error().code()))];
    return;
  }
  Say(now, "begins:", planned.kind);
  // A fault that began late is as long as planned.
  const milliseconds end = now + (planned.end - planned.begin);
  active_.push_back({&*kind, end, *begun, timeline_.size()});
  timeline_.push_back({planned.kind, now, end, planned.pick});
  waits_.FaultBegins(planned.kind, now);
}

void FaultRunner::End(const Active& active, milliseconds now) {
  active.finish(stage_);
  timeline_[active.at].end = now;
  waits_.FaultEnds(active.kind->outline.name, now);
  Say(now, "ends:", active.kind->outline.name);
}

void FaultRunner::EndAll(milliseconds now) {
  next_ = plan_.size();
  for (const Active& active : std::exchange(active_, {})) End(active, now);
}

std::vector<KindReport> FaultRunner::Reports() const {
  std::vector<KindReport> reports;
  for (const FaultKind& kind : kinds_) {
    KindReport report{.kind = kind.outline.name, .what = kind.what, .holds = kind.holds};
    for (const PlannedFault& fault : timeline_) {
      if (fault.kind != kind.outline.name) continue;
      ++report.times;
      report.length += fault.end - fault.begin;
    }
    auto found = not_possible_.find(kind.outline.name);
    if (found != not_possible_.end()) report.not_possible = found->second;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace e2e
