// SPDX-License-Identifier: Apache-2.0
// The plugins templates and daemonSets of the ClusterPodPlacementConfig: what the cluster
// controller does with the pod templates of workloads, beside placing their pods.
#pragma once

#include <string_view>

#include "api/fields.h"

namespace api {

// On a workload whose template got a requirement: the required architectures. Such a template is
// never changed again.
inline constexpr std::string_view kTemplateArchitecturesAnnotation =
    "multiarch.openshift.io/template-architectures";

// Events of workloads.
inline constexpr std::string_view kReasonTemplateSet = "ArchAwareTemplateSet";
inline constexpr std::string_view kReasonTemplateUnchanged = "ArchAwareTemplateUnchanged";
inline constexpr std::string_view kReasonDaemonSetLacksArchitecture =
    "ArchAwareDaemonSetLacksArchitecture";

struct TemplatesPlugin {
  // Jobs that are created suspended get the requirement in their template.
  bool suspended_jobs = false;

  bool operator==(const TemplatesPlugin&) const = default;
  static void Fields(auto& templates, auto& field) {
    field("suspendedJobs", templates.suspended_jobs);
  }
};

struct DaemonSetsPlugin {
  // DaemonSets whose images lack an architecture of their nodes are reported.
  bool report = false;
  // New DaemonSets get the requirement in their template.
  bool patch_templates = false;

  bool operator==(const DaemonSetsPlugin&) const = default;
  static void Fields(auto& daemon_sets, auto& field) {
    field("report", daemon_sets.report);
    field("patchTemplates", daemon_sets.patch_templates);
  }
};

}  // namespace api
