// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/flow.h"

#include <gtest/gtest.h>

#include <string>

namespace e2e {

using namespace std::chrono_literals;
using kube::Code;
using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr auto kPollInterval = 25ms;

}  // namespace

void Flow::Fail(const std::string& what, const std::string& pod) {
  failed_ = true;
  ADD_FAILURE() << "flow \"" << title_ << "\": " << what << "\n" << scene_.Describe(pod);
}

Flow& Flow::Do(const Step& step) {
  if (failed_) return *this;
  Result<> done = step.act(scene_);
  if (!done) Fail("step \"" + step.name + "\": " + done.error().ToString(), step.pod);
  return *this;
}

Flow& Flow::Await(const Condition& condition, std::optional<std::chrono::milliseconds> bound) {
  if (failed_) return *this;
  kube::Clock& clock = scene_.cluster().clock();
  kube::TimePoint deadline = clock.Now() + bound.value_or(scene_.cluster().timeout());
  Result<> holds = condition.holds(scene_);
  while (!holds && clock.Now() < deadline) {
    scene_.cluster().Pause(kPollInterval);
    holds = condition.holds(scene_);
  }
  if (!holds)
    Fail("timed out waiting for \"" + condition.name + "\": " + holds.error().ToString(),
         condition.pod);
  return *this;
}

Flow& Flow::Check(const Condition& condition) {
  if (failed_) return *this;
  Result<> holds = condition.holds(scene_);
  if (!holds)
    Fail("does not hold: \"" + condition.name + "\": " + holds.error().ToString(), condition.pod);
  return *this;
}

Flow& Flow::Stays(const Condition& condition, std::chrono::milliseconds time) {
  kube::Clock& clock = scene_.cluster().clock();
  kube::TimePoint end = clock.Now() + time;
  while (!failed_ && clock.Now() < end) {
    Check(condition);
    scene_.cluster().Pause(kPollInterval);
  }
  return Check(condition);
}

Flow& Flow::Never(const PodRule& rule) {
  if (failed_) return *this;
  if (scene_.pods().gaps() > 0) {
    Fail("\"" + rule.name + "\" cannot be checked: the watch has lost events", "");
    return *this;
  }
  int checked = 0;
  for (const PodHistory* history : scene_.pods().All()) {
    if (IsOperand(history->last()) != rule.of_operands) continue;
    ++checked;
    Result<> kept = rule.kept(*history);
    if (!kept) {
      Fail("violated: \"" + rule.name + "\": pod " + history->name + ": " + kept.error().message(),
           history->name);
      return *this;
    }
  }
  if (checked == 0)
    Fail("\"" + rule.name + "\" was not checked: the scene has no pod to check", "");
  return *this;
}

Flow& Flow::Refused(const Step& step, const std::vector<std::string>& words) {
  if (failed_) return *this;
  Result<> done = step.act(scene_);
  if (done) {
    Fail("\"" + step.name + "\" was not refused", step.pod);
  } else if (done.error().code() != Code::kInvalid &&
             done.error().code() != Code::kPermissionDenied) {
    Fail("\"" + step.name + "\" failed, but was not refused: " + done.error().ToString(), step.pod);
  } else {
    for (const std::string& word : words) {
      if (done.error().message().find(word) != std::string::npos) continue;
      Fail("\"" + step.name + "\" was refused without '" + word + "': " + done.error().message(),
           step.pod);
      break;
    }
  }
  return *this;
}

}  // namespace e2e
