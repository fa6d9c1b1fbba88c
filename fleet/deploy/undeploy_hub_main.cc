// SPDX-License-Identifier: Apache-2.0
// bazel run //fleet:undeploy-hub: removes the hub of a fleet from a cluster. Decisions, clusters
// and what is rolled out stay.
#include <gflags/gflags.h>

#include <iostream>
#include <utility>

#include "deploy/install.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/deploy/cluster_flags.h"
#include "fleet/deploy/manifests.h"
#include "kube/client/typed.h"

DEFINE_bool(delete_crds, false,
            "Also deletes the CRDs, and with them all clusters, Placements and decisions. Not on a "
            "hub of Open Cluster Management. ImageFacts stays, which an operator beside the hub "
            "needs.");

namespace fleet {
namespace {

// The hub with its namespace; the namespaces of clusters and the rights of their agents stay.
kube::Async<> UndeployHub(kube::App& app) {
  auto objects = ObjectsToDelete(HubManifests(), FLAGS_delete_crds);
  if (!objects) co_return objects.error();
  auto client = ClientFromFlags(app);
  if (!client) co_return client.error();
  auto clusters = co_await kube::ListObjects(**client, kManagedClusters, kube::ListOptions());
  if (clusters && !clusters->items.empty()) {
    std::cout << clusters->items.size()
              << " clusters are still members; //fleet:leave removes their agents" << std::endl;
  }
  kube::TimePoint deadline = app.clock().Now() + TimeoutFromFlags();
  kube::Result<> removed =
      co_await deploy::Uninstall(**client, app.clock(), std::move(*objects), deadline);
  if (!removed) co_return removed.error();
  std::cout << "the hub is removed" << std::endl;
  co_return kube::Ok();
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return fleet::RunTool("undeploy-hub", "Removes the hub of a fleet from a cluster.", argc, argv,
                        fleet::UndeployHub);
}
