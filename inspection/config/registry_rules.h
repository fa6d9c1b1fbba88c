// SPDX-License-Identifier: Apache-2.0
// RegistryRules: what the objects of an OpenShift cluster say of registries. The nodes get it as
// registries.conf and policy.json from the machine config operator; here it is merged into the same
// model.
//
//   ImageDigestMirrorSet, ImageTagMirrorSet (config.openshift.io/v1), ImageContentSourcePolicy
//   (operator.openshift.io) Image "cluster" (config.openshift.io/v1): spec.registrySources
#pragma once

#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace inspection {

struct MirrorRule {
  std::string source;                // "quay.io/team", may begin with "*."
  std::vector<std::string> mirrors;  // in order
  bool for_digests = true;           // else for tags
  bool never_source = false;         // NeverContactSource

  bool operator==(const MirrorRule&) const = default;
};

struct RegistryRules {
  std::vector<MirrorRule> mirrors;
  std::vector<std::string> insecure;
  std::vector<std::string> blocked;
  std::vector<std::string> allowed;  // not empty: all others are refused
  std::vector<std::string> search;   // for short names

  bool empty() const { return *this == RegistryRules(); }
  bool operator==(const RegistryRules&) const = default;
};

// Adds what one object says; fields of a wrong type count as absent.
void AddContentSourcePolicy(const kube::Json& object, RegistryRules& rules);
void AddDigestMirrorSet(const kube::Json& object, RegistryRules& rules);
void AddTagMirrorSet(const kube::Json& object, RegistryRules& rules);
void AddImageConfig(const kube::Json& object, RegistryRules& rules);

}  // namespace inspection
