// SPDX-License-Identifier: Apache-2.0
// Creators: users of Kubernetes itself, whose names no tenant can have. What a pod says of itself
// (owners, annotations) can be written by everyone who may create pods.
#pragma once

#include <string_view>

namespace placement {

inline constexpr std::string_view kDaemonSetController =
    "system:serviceaccount:kube-system:daemon-set-controller";
// Its controllers, without --use-service-account-credentials.
inline constexpr std::string_view kControllerManager = "system:kube-controller-manager";
// Nodes, which create mirror pods.
inline constexpr std::string_view kNodeUserPrefix = "system:node:";

// True if `user` may be the controller of DaemonSets: if it creates a pod that a DaemonSet
// controls, that is so.
inline bool MayBeDaemonSetController(std::string_view user) {
  return user == kDaemonSetController || user == kControllerManager;
}
inline bool IsNode(std::string_view user) { return user.starts_with(kNodeUserPrefix); }

}  // namespace placement
