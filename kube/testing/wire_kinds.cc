// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_kinds.h"

#include <map>

#include "kube/testing/descriptors.h"
#include "kube/types/kinds.h"
#include "kube/types/workloads.h"

namespace kube {

const std::vector<WireKind>& WireKinds() {
  static const std::vector<WireKind> kinds = {
      {kPods, "kube.core.Pod"},
      {kSecrets, "kube.core.Secret"},
      {kConfigMaps, "kube.core.ConfigMap"},
      {kEvents, "kube.core.Event"},
      {kNamespaces, "kube.whole.Namespace"},
      {kNodes, "kube.whole.Node"},
      {kLeases, "kube.coordination.Lease"},
      {kDeployments, "kube.whole.Deployment"},
      {kDaemonSets, "kube.whole.DaemonSet"},
      {ResourceOf<workloads::Job>::value, "kube.workloads.Job"},
  };
  return kinds;
}

const WireKind* FindWireKind(std::string_view collection) {
  static const std::map<std::string, const WireKind*, std::less<>> by_collection = [] {
    std::map<std::string, const WireKind*, std::less<>> kinds;
    for (const WireKind& kind : WireKinds()) kinds[kind.resource.Path()] = &kind;
    return kinds;
  }();
  auto found = by_collection.find(collection);
  return found == by_collection.end() ? nullptr : found->second;
}

const WireJson& ApiWireJson() {
  static const WireJson translation(ApiDescriptors());
  return translation;
}

}  // namespace kube
