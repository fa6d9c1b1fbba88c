// SPDX-License-Identifier: Apache-2.0
// FleetDemo: the steps of `make fleet-demo`. Each step does something on an API server and waits
// until the API servers report what has to follow.
//
//   kube::Result<> done = FleetDemo(fleet).Run();
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/e2e/demo/demo_fleet.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace e2e {

class FleetDemo {
 public:
  // The DemoFleet has these members. By name, east comes first in a rollout.
  static constexpr const char* kEast = "east";
  static constexpr const char* kWest = "west";

  explicit FleetDemo(DemoFleet& fleet);
  ~FleetDemo();
  FleetDemo(const FleetDemo&) = delete;
  FleetDemo& operator=(const FleetDemo&) = delete;

  // All steps in their order. Errors: of the first step that failed, with its title.
  kube::Result<> Run();

  // --- What the API servers report now
  // The clusters that the Placement of the team selects, sorted.
  std::vector<std::string> SelectedBy(const std::string& placement) const;
  // The PodPlacementConfigs in a member, sorted.
  std::vector<std::string> ConfigsIn(const std::string& member) const;

  // --- What was seen of the rollout to every cluster
  // In the order in which they got the objects.
  const std::vector<std::string>& rollout_order() const { return rollout_order_; }
  // The most clusters at one time that had the objects and had not succeeded.
  size_t most_in_progress() const { return most_in_progress_; }

 private:
  kube::Result<> StartControlPlanes();
  kube::Result<> CreateNodes();
  kube::Result<> Join();
  kube::Result<> Place();
  kube::Result<> RollOut();
  kube::Result<> LoseArm64();

  // Starts its agent when the hub has given it access; does not wait for the agent.
  kube::Result<> JoinMember(const std::string& member);
  // Waits until the condition of the member's ManagedCluster is True, which means that the member
  // `meaning`.
  kube::Result<> AwaitTrue(const std::string& member, std::string_view condition,
                           const std::string& meaning);
  kube::Result<> AwaitScore(const std::string& member, int64_t score);
  kube::Result<> AwaitSelected(const std::string& placement, std::vector<std::string> clusters);
  // Waits until exactly these clusters have the objects of the FleetPodPlacement, and each
  // succeeded.
  kube::Result<> AwaitRolledOut(const std::string& rollout, std::vector<std::string> clusters);
  kube::Result<> AwaitConfigs(const std::string& member, std::vector<std::string> names);
  // Whether each cluster that has the objects of the FleetPodPlacement has succeeded with them.
  std::map<std::string, bool> SucceededWith(const std::string& rollout) const;
  // The one PlacementDecision of a Placement of the team; null if there is none.
  const kube::Json& DecisionOf(const std::string& placement) const;
  void WatchRollout();

  DemoFleet& fleet_;
  std::vector<std::string> rollout_order_;
  size_t most_in_progress_ = 0;
};

}  // namespace e2e
