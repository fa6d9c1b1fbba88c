// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/tool.h"

#include <gflags/gflags.h>

#include <map>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "operator/deploy/manifests.h"

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; empty: $KUBECONFIG, else ~/.kube/config.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "Namespace of the operator and its operands.");
DEFINE_string(registry, "",
              "Registry and path that //operator:push copied the images to, as in "
              "\"registry.example.com/placement\"; empty: the images are loaded into the nodes.");
DEFINE_string(architecture, "amd64",
              "Architecture of the images and of the nodes that the operator runs on.");
DEFINE_int32(timeout, 180, "Seconds to wait until the tool is done.");

namespace operator_ {
namespace {

using kube::Async;
using kube::Result;

Result<std::unique_ptr<kube::Client>> ClientFromFlags(kube::App& app) {
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) return config.error();
  return kube::NewClient(app.executor(), app.clock(), std::move(*config),
                         {.user_agent = api::UserAgent("deploy")});
}

Result<std::vector<kube::Unstructured>> ManifestsFromFlags() {
  std::map<std::string, std::string> values{{"NAMESPACE", FLAGS_namespace},
                                            {"ARCHITECTURE", FLAGS_architecture}};
  const std::pair<const char*, const char*> kImages[] = {
      {"OPERATOR_IMAGE", "operator"},
      {"WEBHOOK_IMAGE", "webhook"},
      {"SHARD_IMAGE", "shard"},
      {"CONTROLLER_IMAGE", "cluster-controller"}};
  for (auto& [variable, folder] : kImages) {
    Result<ImageReference> image = ReadImageReference(std::string(folder) + "/image.ref");
    if (!image) return image.error();
    std::string registry = FLAGS_registry.empty() ? "localhost" : FLAGS_registry;
    values[variable] = registry + "/" + image->name + ":" + image->tag;
  }
  return LoadManifests({"operator/manifests/namespace.yaml", "api/crds/podplacementconfigs.yaml",
                        "api/crds/clusterpodplacementconfigs.yaml", "operator/manifests/rbac.yaml",
                        "operator/manifests/operator.yaml"},
                       values);
}

Async<> Main(kube::App& app, DeployAction action) {
  auto client = ClientFromFlags(app);
  if (!client) co_return client.error();
  auto objects = ManifestsFromFlags();
  if (!objects) co_return objects.error();
  std::chrono::seconds timeout(FLAGS_timeout);
  Result<> done = co_await action(**client, app.clock(), std::move(*objects), timeout);
  co_return done;
}

}  // namespace

int RunDeployTool(std::string_view name, std::string_view summary, int argc, char** argv,
                  DeployAction action) {
  kube::AppOptions options{.name = name,
                           .summary = summary,
                           .version = api::kVersion,
                           .argc = argc,
                           .argv = argv,
                           .interactive = true};
  return kube::RunApp(options,
                      [action = std::move(action)](kube::App& app) { return Main(app, action); });
}

}  // namespace operator_
