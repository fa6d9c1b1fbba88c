// SPDX-License-Identifier: Apache-2.0
// Flow: a test that reads as steps.
//
//   Flow(scene, "the local gate is removed first")
//       .Do(Create(MakeConfig("arm64-first").Prefer("arm64", 75)))
//       .Await(ShardReady())
//       .Do(Create(MakePod("web").Image(...)))
//       .Await(Prefers("web", {{"arm64", 75}}))
//       .Never(ClusterGateRemovedBeforeLocal());
//
// Each call runs its step at once. The first failure fails the test, with the name of the step,
// what is missing and the state of the scene; the remaining steps are skipped.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "e2e/framework/scene.h"

namespace e2e {

// An action; an Error fails the flow.
struct Step {
  std::string name;
  std::function<kube::Result<>(Scene&)> act;
  // The pod that a failure's message shows in full.
  std::string pod;
};

// A state that holds or not; the Error says what is missing.
struct Condition {
  std::string name;
  std::function<kube::Result<>(Scene&)> holds;
  std::string pod;
};

// A violation that no pod may show in any event since its creation. The name describes the
// violation; the Error says where it was seen.
struct PodRule {
  std::string name;
  std::function<kube::Result<>(const PodHistory&)> kept;
  // Applies to the operator's own pods, or to all other pods.
  bool of_operands = false;
};

class Flow {
 public:
  Flow(Scene& scene, std::string title) : scene_(scene), title_(std::move(title)) {}

  Flow& Do(const Step& step);
  // Waits until the condition holds; fails after `bound` (default: the cluster's timeout).
  Flow& Await(const Condition& condition, std::optional<std::chrono::milliseconds> bound = {});
  // The condition must hold now.
  Flow& Check(const Condition& condition);
  // The condition must hold at every poll during `time`.
  Flow& Stays(const Condition& condition, std::chrono::milliseconds time);
  // No pod of the scene has violated the rule so far.
  Flow& Never(const PodRule& rule);
  // The API server must refuse the step as invalid or forbidden, with all `words` in its message.
  Flow& Refused(const Step& step, const std::vector<std::string>& words);

  bool failed() const { return failed_; }

 private:
  void Fail(const std::string& what, const std::string& pod);

  Scene& scene_;
  std::string title_;
  bool failed_ = false;
};

}  // namespace e2e
