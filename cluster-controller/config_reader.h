// SPDX-License-Identifier: Apache-2.0
// ConfigReader: the PodPlacementConfigs of a namespace, never older than the question.
//
// A pod that came without the local gate may match a PodPlacementConfig that was written an instant before it (I4). A
// watch cache cannot rule that out, so the namespace is listed live. Questions that come while a list is under way share
// the next one: a burst of pods costs a list every `spacing`, not a list a pod.
// Thread: the client's.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace cluster_controller {

using Configs = std::shared_ptr<const std::vector<api::PodPlacementConfig>>;

class ConfigReader {
 public:
  // `spacing`: the least time between the starts of two lists of one namespace.
  ConfigReader(kube::Client& client, kube::Clock& clock, std::chrono::milliseconds spacing = std::chrono::milliseconds(10));
  ~ConfigReader();

  // Everything that was written in `ns` before the call, in the order of the API server; empty if there is nothing.
  // Errors: the API server's.
  kube::Async<Configs> Read(std::string ns);

 private:
  struct Round;
  struct Lane {
    std::shared_ptr<Round> open;     // not started: later questions may still join
    std::shared_ptr<Round> running;  // its list is under way
    kube::TimePoint last_start{};
  };

  // Runs the list of `round`, which is the open one of `ns`, after the running one.
  kube::Async<Configs> RunRound(std::string ns, std::shared_ptr<Round> round);
  void ForgetIdleLanes();

  kube::Client& client_;
  kube::Clock& clock_;
  std::chrono::milliseconds spacing_;
  std::unordered_map<std::string, Lane> lanes_;
};

}  // namespace cluster_controller
