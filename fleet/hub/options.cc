// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/options.h"

#include <gflags/gflags.h>

#include "api/names.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/standalone/membership/membership.h"

DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The namespace of the hub's own pods, with the Lease.");
DEFINE_string(placements, "claimed",
              "Which Placements are scheduled. claimed: those that disable OCM's controller "
              "and name this scheduler. all: for a hub without OCM's controller.");
DEFINE_validator(placements, [](const char*, const std::string& value) {
  return value == "claimed" || value == "all";
});
DEFINE_string(membership, "ocm",
              "What owns the membership of the fleet: sets, namespaces and access of the agents, "
              "and whether a cluster is reachable. ocm: OCM's registration controller. own: this "
              "hub.");
DEFINE_validator(membership, [](const char*, const std::string& value) {
  return value == "ocm" || value == "own";
});
DEFINE_string(on_misconfigured, "keep",
              "What becomes of the decisions of a misconfigured Placement. keep: they stay. clear: "
              "they are removed, as OCM's controller does.");
DEFINE_validator(on_misconfigured, [](const char*, const std::string& value) {
  return value == "keep" || value == "clear";
});
DEFINE_string(spread, "enforce",
              "Whether spread constraints have an effect: enforce, or ignore, as OCM's controller "
              "does.");
DEFINE_validator(spread, [](const char*, const std::string& value) {
  return value == "enforce" || value == "ignore";
});
DEFINE_string(work_objects, "PodPlacementWork",
              "The kind of the objects in the clusters' namespaces that tell what a rollout gives "
              "a cluster. PodPlacementWork: applied by this project's agent. ManifestWork: by "
              "OCM's work agent.");
DEFINE_validator(work_objects, [](const char*, const std::string& value) {
  return fleet::FindWorkKind(value) != nullptr;
});
DEFINE_bool(image_facts, false,
            "Shares with all members what those of trusted cluster sets publish about images: sets "
            "with the label fleet.multiarch.openshift.io/image-facts=trusted.");
DEFINE_int32(workers, 8,
             "Placements whose decisions are written at a time, and FleetPodPlacements whose work "
             "objects are.");
DEFINE_string(cel_evaluator, "/cel-evaluator",
              "Path of the program that evaluates celSelectors (//fleet/cel/evaluator). It is "
              "started when the first Placement needs it.");
DEFINE_string(debug_address, "",
              "Where to serve /debug/placements/ over TLS, as host:port, such as :9443, to clients "
              "that may get or create the Placement. Empty: nowhere.");
DEFINE_string(debug_cert_dir, "/etc/debug/certs",
              "Folder of tls.crt and tls.key for --debug-address. Changed files are loaded without "
              "a restart.");

namespace fleet {

HubOptions OptionsFromFlags() {
  HubOptions options{
      .ns = FLAGS_namespace,
      .leader = {.workers = FLAGS_workers, .works = *FindWorkKind(FLAGS_work_objects)},
      .evaluator = {.program = FLAGS_cel_evaluator},
      .debug = {FLAGS_debug_address, FLAGS_debug_cert_dir}};
  PlacementReconcilerOptions& reconciler = options.leader.reconciler;
  if (FLAGS_placements == "all") reconciler.placements = PlacementsMode::kAll;
  reconciler.clear_misconfigured = FLAGS_on_misconfigured == "clear";
  reconciler.schedule.ignore_spread = FLAGS_spread == "ignore";
  if (FLAGS_image_facts) options.leader.image_facts_namespace = FLAGS_namespace;
  if (FLAGS_membership == "own") options.leader.membership = {.hub_namespace = FLAGS_namespace};
  return options;
}

}  // namespace fleet
