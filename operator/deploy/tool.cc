// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/tool.h"

#include <gflags/gflags.h>

#include <string>

#include "api/names.h"
#include "api/version.h"
#include "deploy/tool.h"
#include "kube/base/app.h"
#include "kube/base/split.h"
#include "kube/client/kubeconfig.h"
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

using kube::Async;
using kube::Result;

Result<std::unique_ptr<kube::Client>> ClientFromFlags(kube::App& app) {
  Result<kube::ClientConfig> config =
      kube::LoadKubeconfig(deploy::KubeconfigPath(FLAGS_kubeconfig), FLAGS_context);
  if (!config) return config.error();
  return deploy::NewToolClient(app, std::move(*config));
}

Result<std::vector<kube::Unstructured>> ManifestsFromFlags(const DeployTool& tool) {
  deploy::ManifestOptions options{
      .ns = FLAGS_namespace, .images = {}, .components = kube::SplitAtCommas(FLAGS_with)};
  if (tool.all_components) {
    for (const std::string& component : ShippedComponents())
      deploy::AddComponent(component, options.components);
  }
  Result<deploy::BuiltImages> built = deploy::FindImages(
      {"operator", "webhook", "shard", "cluster-controller", "console", "exec-format/monitor"},
      FLAGS_registry);
  if (!built) return built.error();
  options.images = std::move(built->images);
  if (built->all_architectures)
    deploy::AddComponent(deploy::kAllArchitecturesComponent, options.components);
  return LoadManifests(options);
}

Async<> Main(kube::App& app, DeployTool tool) {
  auto objects = ManifestsFromFlags(tool);
  if (!objects) co_return objects.error();
  if (FLAGS_print) {
    deploy::Print(*objects);
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
