// SPDX-License-Identifier: Apache-2.0
// Flow: a test that reads as steps.
//
//   Flow(scene, "local gate goes first")
//       .Do(Create(MakeConfig("arm64-first").Prefer("arm64", 75)))
//       .Await(ShardReady())
//       .Do(Create(MakePod("web").Image(...)))
//       .Await(Prefers("web", {{"arm64", 75}}))
//       .Never(ClusterGateGoesBeforeLocal());
//
// Steps run at once and in order. The first that fails makes the test fail, with its own name, what
// is missing and the state of the scene; the rest is then left out.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "e2e/framework/scene.h"

namespace e2e {

// Something to do. An Error is a failure.
struct Step {
  std::string name;
  std::function<kube::Result<>(Scene&)> act;
  // The pod to show in full when it fails.
  std::string pod;
};

// Something that holds or not; the Error says what is missing.
struct Condition {
  std::string name;
  std::function<kube::Result<>(Scene&)> holds;
  std::string pod;
};

// Something that no pod may ever have done, judged by every event since its creation. The Error
// says what it did.
struct PodRule {
  std::string name;
  std::function<kube::Result<>(const PodHistory&)> kept;
  // Whether it is about our own operands, or about all other pods.
  bool of_operands = false;
};

class Flow {
 public:
  Flow(Scene& scene, std::string title) : scene_(scene), title_(std::move(title)) {}

  Flow& Do(const Step& step);
  // Waits for it, as long as the cluster's patience or `bound`.
  Flow& Await(const Condition& condition, std::optional<std::chrono::milliseconds> bound = {});
  // It must hold now.
  Flow& Check(const Condition& condition);
  // It must hold now and at every look during `time`.
  Flow& Stays(const Condition& condition, std::chrono::milliseconds time);
  // No pod of the scene has broken the rule so far.
  Flow& Never(const PodRule& rule);
  // The API server must refuse it as invalid or forbidden, and every one of `words` must be in what
  // it says.
  Flow& Refused(const Step& step, const std::vector<std::string>& words);

  bool failed() const { return failed_; }

 private:
  void Fail(const std::string& what, const std::string& pod);

  Scene& scene_;
  std::string title_;
  bool failed_ = false;
};

}  // namespace e2e
