// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/operator_objects.h"

#include <set>

#include "e2e/framework/all_objects.h"
#include "kube/types/list_at.h"

namespace e2e {

using kube::Result;

namespace {

constexpr char kOperator[] = "multiarch-tuning-operator";

bool IsManaged(const kube::Json& object) {
  const kube::Json& labels = kube::ObjectAt(object, "metadata.labels");
  auto label = labels.find("app.kubernetes.io/managed-by");
  return label != labels.end() && *label == kOperator;
}

}  // namespace

Result<std::string> ObjectsOfOperator(ProcessCluster& cluster, OperatorObjectsOptions options) {
  const std::set<std::string> shipped = cluster.ManifestNames();
  Result<Objects> objects = AllObjects(cluster);
  if (!objects) return objects.error();
  std::string found;
  for (const auto& [name, object] : *objects) {
    const std::string own_name = kube::StringAt(object, "metadata.name");
    bool own = IsManaged(object) || own_name.starts_with("pod-placement-") ||
               own_name.starts_with(kOperator) ||
               (options.with_manifests && shipped.contains(name));
    // The controllers' leader election has its Lease beside the operator's.
    bool of_running =
        options.operator_runs && (own_name.starts_with(kOperator) || shipped.contains(name) ||
                                  name.starts_with("Lease " + cluster.operator_namespace()));
    if (own && !of_running) found += name + ", ";
  }
  return found;
}

}  // namespace e2e
