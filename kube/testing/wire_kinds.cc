// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_kinds.h"

#include <map>

#include "kube/testing/descriptors.h"
#include "kube/types/kinds.h"
#include "kube/types/workloads.h"

namespace kube {

const std::vector<WireKind>& WireKinds() {
  static const std::vector<WireKind> kinds = {
      {kPods, "kube.core.Pod", /*has_status=*/true},
      {kSecrets, "kube.core.Secret"},
      {kConfigMaps, "kube.core.ConfigMap"},
      {kEvents, "kube.core.Event"},
      {kNamespaces, "kube.whole.Namespace", /*has_status=*/true},
      {kNodes, "kube.whole.Node", /*has_status=*/true},
      {kLeases, "kube.coordination.Lease"},
      {kDeployments, "kube.whole.Deployment", /*has_status=*/true},
      {kDaemonSets, "kube.whole.DaemonSet", /*has_status=*/true},
      {ResourceOf<workloads::Job>::value, "kube.workloads.Job", /*has_status=*/true},
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
