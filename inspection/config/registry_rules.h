// SPDX-License-Identifier: Apache-2.0
// RegistryRules: the rules for registries in the objects of an OpenShift cluster. The machine
// config operator writes them to the nodes' registries.conf and policy.json; here they are merged
// into the same model.
//
//   ImageDigestMirrorSet, ImageTagMirrorSet (config.openshift.io/v1)
//   ImageContentSourcePolicy (operator.openshift.io)
//   Image "cluster" (config.openshift.io/v1): spec.registrySources
#pragma once

#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace inspection {

struct MirrorRule {
  std::string source;                // "quay.io/team", may begin with "*."
  std::vector<std::string> mirrors;  // in order
  bool for_digests = true;           // false: for tags
  bool never_source = false;         // NeverContactSource

  bool operator==(const MirrorRule&) const = default;
};

struct RegistryRules {
  std::vector<MirrorRule> mirrors;
  std::vector<std::string> insecure;
  std::vector<std::string> blocked;
  std::vector<std::string> allowed;  // if not empty, all others are refused
  std::vector<std::string> search;   // for short names

  bool empty() const { return *this == RegistryRules(); }
  bool operator==(const RegistryRules&) const = default;
};

// Add the rules of one object; fields of a wrong type count as absent.
void AddContentSourcePolicy(const kube::Json& object, RegistryRules& rules);
void AddDigestMirrorSet(const kube::Json& object, RegistryRules& rules);
void AddTagMirrorSet(const kube::Json& object, RegistryRules& rules);
void AddImageConfig(const kube::Json& object, RegistryRules& rules);

}  // namespace inspection
