// SPDX-License-Identifier: Apache-2.0
// bazel run //fleet:leave: ends the membership of a cluster.
#include <gflags/gflags.h>

#include <utility>

#include "deploy/tool.h"
#include "fleet/deploy/cluster_flags.h"
#include "fleet/deploy/manifests.h"
#include "fleet/standalone/deploy/hub_flags.h"
#include "fleet/standalone/deploy/leave.h"

DEFINE_bool(delete_objects, false,
            "Also deletes the configs that the hub has rolled out to the cluster. Otherwise they "
            "stay, and a later membership takes them over.");

namespace fleet {
namespace {

kube::Async<> LeaveFromFlags(kube::App& app) {
  auto objects = ObjectsToDelete(AgentManifests(), /*crds=*/false);
  if (!objects) co_return objects.error();
  auto name = MemberName();
  if (!name) co_return name.error();
  auto hub_config = HubConfig();
  if (!hub_config) co_return hub_config.error();
  auto hub = deploy::NewToolClient(app, std::move(*hub_config));
  if (!hub) co_return hub.error();
  auto member = ClientFromFlags(app);
  if (!member) co_return member.error();
  LeaveOptions options{.cluster = *name,
                       .agent = *objects,
                       .delete_objects = FLAGS_delete_objects,
                       .timeout = TimeoutFromFlags()};
  kube::Result<> left = co_await Leave(**hub, **member, app.clock(), std::move(options));
  co_return left;
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return fleet::RunTool("leave", "Ends the membership of a cluster.", argc, argv,
                        fleet::LeaveFromFlags);
}
