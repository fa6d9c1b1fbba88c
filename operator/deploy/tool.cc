// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/tool.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/split.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "operator/deploy/manifests.h"

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; empty: $KUBECONFIG, else ~/.kube/config.");
DEFINE_string(context, "", "Context in the kubeconfig file; empty: its current context.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "Namespace of the operator and its operands.");
DEFINE_string(registry, "",
              "Registry and path that //operator:push copied the images to, as in "
              "\"registry.example.com/placement\"; empty: the images are loaded into the nodes.");
DEFINE_string(with, "",
              "Components to add, comma separated: folders in operator/manifests/components, or "
              "absolute paths of other kustomize components.");
DEFINE_bool(print, false,
            "Only prints the objects, as a List in JSON for `kubectl apply`; uses no cluster.");
DEFINE_int32(timeout, 180, "Seconds to wait until the tool is done.");

namespace operator_ {
namespace {

// What `make images` builds, and the component for it.
constexpr std::string_view kAllArchitectures = "amd64,arm64,ppc64le,s390x";
constexpr const char* kAllArchitecturesComponent = "all-architectures";

using kube::Async;
using kube::Result;

// The file that kubectl would use.
std::string KubeconfigPath() {
  if (!FLAGS_kubeconfig.empty()) return FLAGS_kubeconfig;
  const char* path = std::getenv("KUBECONFIG");
  if (path != nullptr && *path != '\0') return path;
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.kube/config";
}

Result<std::unique_ptr<kube::Client>> ClientFromFlags(kube::App& app) {
  Result<kube::ClientConfig> config = kube::LoadKubeconfig(KubeconfigPath(), FLAGS_context);
  if (!config) return config.error();
  return kube::NewClient(app.executor(), app.clock(), std::move(*config),
                         {.user_agent = api::UserAgent("deploy")});
}

void AddComponent(const std::string& component, std::vector<std::string>& components) {
  if (std::count(components.begin(), components.end(), component) == 0)
    components.push_back(component);
}

Result<std::vector<kube::Unstructured>> ManifestsFromFlags(const DeployTool& tool) {
  ManifestOptions options{
      .ns = FLAGS_namespace, .images = {}, .components = kube::SplitAtCommas(FLAGS_with)};
  if (tool.all_components) {
    for (const std::string& component : ShippedComponents())
      AddComponent(component, options.components);
  }
  // A node has the image of its own architecture, a registry has the index of all.
  const bool pushed = !FLAGS_registry.empty();
  const std::string registry = pushed ? FLAGS_registry : "localhost";
  const std::string file = pushed ? "/index.ref" : "/image.ref";
  bool all_architectures = true;
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    Result<ImageReference> image = ReadImageReference(program + file);
    if (!image) return image.error();
    options.images[program] = registry + "/" + image->name + ":" + image->tag;
    all_architectures = all_architectures && image->architectures == kAllArchitectures;
  }
  if (all_architectures) AddComponent(kAllArchitecturesComponent, options.components);
  return LoadManifests(options);
}

void Print(const std::vector<kube::Unstructured>& objects) {
  kube::Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", kube::Json::array()}};
  for (const kube::Unstructured& object : objects) list["items"].push_back(object.body());
  std::cout << list.dump(2) << std::endl;
}

Async<> Main(kube::App& app, DeployTool tool) {
  auto objects = ManifestsFromFlags(tool);
  if (!objects) co_return objects.error();
  if (FLAGS_print) {
    Print(*objects);
    co_return kube::Ok();
  }
  auto client = ClientFromFlags(app);
  if (!client) co_return client.error();
  std::chrono::seconds timeout(FLAGS_timeout);
  Result<> done = co_await tool.action(**client, app.clock(), std::move(*objects), timeout);
  co_return done;
}

}  // namespace

int RunDeployTool(const DeployTool& tool, int argc, char** argv) {
  kube::AppOptions options{.name = tool.name,
                           .summary = tool.summary,
                           .version = api::kVersion,
                           .argc = argc,
                           .argv = argv,
                           .interactive = true};
  return kube::RunApp(options, [tool](kube::App& app) { return Main(app, tool); });
}

}  // namespace operator_
