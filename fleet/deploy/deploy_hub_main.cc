// SPDX-License-Identifier: Apache-2.0
// bazel run //fleet:deploy-hub: installs the hub of a fleet on a cluster, with the CRDs that the
// cluster does not have yet.
#include <gflags/gflags.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "deploy/install.h"
#include "deploy/tool.h"
#include "fleet/deploy/cluster_flags.h"
#include "fleet/deploy/manifests.h"

DEFINE_string(membership, "ocm",
              "Which controller owns the ManagedClusters: ocm, for a hub of Open Cluster "
              "Management, or own, for a hub without it.");
DEFINE_validator(membership, [](const char*, const std::string& value) {
  return value == "ocm" || value == "own";
});
DEFINE_string(placements, "claimed",
              "Which Placements the hub schedules: claimed, those that disable OCM's controller "
              "and name this scheduler, or all, on a hub without that "
              "controller.");
DEFINE_validator(placements, [](const char*, const std::string& value) {
  return value == "claimed" || value == "all";
});

namespace fleet {
namespace {

kube::Async<> DeployHub(kube::App& app) {
  std::vector<std::string> components = {kCrdsComponent};
  if (FLAGS_membership == "own") components.push_back("own-membership");
  if (FLAGS_placements == "all") components.push_back("all-placements");
  auto objects = ObjectsToInstall(HubManifests(), "fleet/hub", std::move(components));
  if (!objects) co_return objects.error();
  if (OnlyPrint()) {
    deploy::Print(*objects);
    co_return kube::Ok();
  }
  auto client = ClientFromFlags(app);
  if (!client) co_return client.error();
  deploy::InstallOptions options{
      .timeout = TimeoutFromFlags(), .keep_foreign_crds = true, .wait = Waits()};
  kube::Result<> installed =
      co_await deploy::Install(**client, app.clock(), std::move(*objects), options);
  if (!installed) co_return installed.error();
  std::cout << (Waits() ? "the hub is ready" : "the hub is installed") << std::endl;
  co_return kube::Ok();
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return fleet::RunTool("deploy-hub", "Installs the hub of a fleet on a cluster.", argc, argv,
                        fleet::DeployHub);
}
