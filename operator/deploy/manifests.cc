// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/manifests.h"

#include "api/names.h"

namespace operator_ {
namespace {

deploy::ManifestSet OperatorManifests() {
  return {.file = "operator/manifests/manifests.json",
          .ns = std::string(api::kDefaultOperatorNamespace)};
}

}  // namespace

kube::Result<std::vector<kube::Unstructured>> LoadManifests(
    const deploy::ManifestOptions& options) {
  return deploy::LoadManifests(OperatorManifests(), options);
}

std::vector<std::string> ShippedComponents() {
  return deploy::ShippedComponents(OperatorManifests());
}

}  // namespace operator_
