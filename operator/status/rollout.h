// SPDX-License-Identifier: Apache-2.0
// Rollout: how far a Deployment of ours is, and why it is not there yet. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace operator_ {

// Why something does not run, in the cluster's own words: "FailedCreate", "ImagePullBackOff",
// "CrashLoopBackOff", "Unschedulable", ...
struct Trouble {
  std::string reason;
  std::string message;

  bool operator==(const Trouble&) const = default;
};

struct Rollout {
  // From the Deployment's own spec and status; all zero and false where there is no Deployment.
  bool exists = false;
  int64_t replicas = 0;
  int64_t ready_replicas = 0;
  // At least one replica serves.
  bool available = false;
  // All replicas are there, of the newest version, and no other ones.
  bool complete = false;
  // The operator version that the Deployment was last applied by.
  std::string version;
  // What the Deployment's conditions say: replicas that cannot be created (quota), a rollout that
  // does not end.
  std::optional<Trouble> trouble;
};

// `deployment`: nullptr where there is none.
Rollout RolloutOf(const kube::Json* deployment);

// The first trouble that the pods of a Deployment show: an image that cannot be pulled, a container
// that crashes, no node to run on. Pods that are being deleted don't count.
std::optional<Trouble> TroubleOfPods(const std::vector<kube::Unstructured>& pods);

// What an error of the API server says to the owner of the object: a quota, a refused object, a
// missing permission. nullopt for what passes by itself (conflicts, an API server that is away):
// that is no state to report.
std::optional<Trouble> TroubleOf(const kube::Error& error);

// The pods' trouble where they have one, as it is the cause of what their Deployment says. A pod
// that could not be created has none to show, so a Deployment's FailedCreate comes first.
std::optional<Trouble> WorstTrouble(const Rollout& rollout, const std::optional<Trouble>& pods);

}  // namespace operator_
