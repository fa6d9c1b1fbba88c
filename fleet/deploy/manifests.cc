// SPDX-License-Identifier: Apache-2.0
#include "fleet/deploy/manifests.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <utility>

#include "deploy/tool.h"
#include "kube/base/split.h"

DEFINE_string(namespace, "",
              "Namespace of the program; empty: multiarch-fleet of the hub, multiarch-fleet-member "
              "of an agent.");
DEFINE_string(registry, "",
              "Registry and path that //fleet:push copied the images to, as in "
              "\"registry.example.com/placement\"; empty: the images are loaded into the nodes.");
DEFINE_string(with, "",
              "Components to add, comma separated: folders in the components/ of fleet/manifests, "
              "or absolute paths of other kustomize components.");
DEFINE_bool(print, false,
            "Only prints the objects, as a List in JSON for `kubectl apply`; uses no cluster.");
DEFINE_bool(wait, true, "Whether to wait until the program is ready.");

namespace fleet {

using kube::Result;
using Objects = std::vector<kube::Unstructured>;

deploy::ManifestSet HubManifests() {
  return {.file = "fleet/manifests/hub.json", .ns = kHubNamespace};
}

deploy::ManifestSet AgentManifests() {
  return {.file = "fleet/manifests/agent.json", .ns = "multiarch-fleet-member"};
}

Result<Objects> ObjectsToInstall(const deploy::ManifestSet& set, const std::string& package,
                                 std::vector<std::string> components) {
  for (const std::string& component : kube::SplitAtCommas(FLAGS_with))
    deploy::AddComponent(component, components);
  if (std::count(components.begin(), components.end(), kImageFactsComponent) > 0 &&
      set.file == HubManifests().file)
    deploy::AddComponent(kImageFactsCrdComponent, components);
  Result<deploy::BuiltImages> built = deploy::FindImages({package}, FLAGS_registry);
  if (!built) return built.error();
  if (built->all_architectures)
    deploy::AddComponent(deploy::kAllArchitecturesComponent, components);
  return deploy::LoadManifests(set, {.ns = FLAGS_namespace,
                                     .images = std::move(built->images),
                                     .components = std::move(components)});
}

Result<Objects> ObjectsToDelete(const deploy::ManifestSet& set, bool crds) {
  std::vector<std::string> components;
  for (const std::string& component : deploy::ShippedComponents(set)) {
    if (component == kImageFactsCrdComponent || (component == kCrdsComponent && !crds)) continue;
    components.push_back(component);
  }
  return deploy::LoadManifests(
      set, {.ns = FLAGS_namespace, .images = {}, .components = std::move(components)});
}

bool OnlyPrint() { return FLAGS_print; }
bool Waits() { return FLAGS_wait; }

}  // namespace fleet
