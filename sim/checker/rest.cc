// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/rest.h"

#include <string_view>

#include "api/names.h"

namespace sim::checker {

namespace {

constexpr std::string_view kGatingPolicy = "pod-placement-scheduling-gate.multiarch.openshift.io";

// Registries are asked again for images in use, and a policy places pods as long as that counts.
bool KeepsImagesKnown(const Commit& commit, const Writer& writer) {
  if (writer.Is(Program::kClusterController)) return IsOf(commit, api::kGroup, "imagefacts");
  return writer.Is(Program::kOperator) &&
         IsOf(commit, "admissionregistration.k8s.io", "mutatingadmissionpolicies") &&
         commit.key.name == kGatingPolicy;
}

}  // namespace

void CheckAtRest(const Commit& commit, const Writer& writer, const ClusterConfig& config,
                 Violations& violations) {
  if (!writer.IsOurs() || IsOf(commit, "coordination.k8s.io", "leases")) return;
  if (config.exists && config.places && KeepsImagesKnown(commit, writer)) return;
  violations.push_back(
      At(commit, "rest", writer.Describe() + " wrote it (" + commit.verb + ") at rest"));
}

}  // namespace sim::checker
