// SPDX-License-Identifier: Apache-2.0
// bazel run //fleet:join: makes a cluster a member of a fleet.
#include <gflags/gflags.h>

#include <map>
#include <string>
#include <utility>

#include "deploy/tool.h"
#include "fleet/deploy/cluster_flags.h"
#include "fleet/deploy/manifests.h"
#include "fleet/standalone/deploy/hub_flags.h"
#include "fleet/standalone/deploy/hub_kubeconfig.h"
#include "fleet/standalone/deploy/join.h"
#include "kube/base/split.h"

DEFINE_string(labels, "", "Labels of the new ManagedCluster, as in \"region=eu,tier=prod\".");
DEFINE_string(hub_server, "",
              "The address of the hub for the member's pods, as in "
              "\"https://hub.example.com:6443\"; empty: that of the hub's kubeconfig.");

DEFINE_bool(agent, true,
            "Whether to install the agent; false: only writes its Secret, for an agent that "
            "kustomize or Helm installs, and does not wait for it.");

namespace fleet {
namespace {

using kube::Result;

Result<std::map<std::string, std::string>> LabelsFromFlag() {
  std::map<std::string, std::string> labels;
  for (const std::string& label : kube::SplitAtCommas(FLAGS_labels)) {
    size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0)
      return kube::Error::Invalid("--labels must be KEY=VALUE, comma separated");
    labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return labels;
}

kube::Async<> JoinFromFlags(kube::App& app) {
  auto objects = ObjectsToInstall(AgentManifests(), "fleet/agent", {});
  if (!objects) co_return objects.error();
  if (OnlyPrint()) {
    deploy::Print(*objects);
    co_return kube::Ok();
  }
  auto name = MemberName();
  if (!name) co_return name.error();
  auto labels = LabelsFromFlag();
  if (!labels) co_return labels.error();
  auto hub_config = HubConfig();
  if (!hub_config) co_return hub_config.error();
  auto kubeconfig = AgentKubeconfig(*hub_config, FLAGS_hub_server);
  if (!kubeconfig) co_return kubeconfig.error();
  auto hub = deploy::NewToolClient(app, std::move(*hub_config));
  if (!hub) co_return hub.error();
  auto member = ClientFromFlags(app);
  if (!member) co_return member.error();
  JoinOptions options{.cluster = *name,
                      .hub_namespace = HubNamespace(),
                      .labels = *labels,
                      .hub_kubeconfig = *kubeconfig,
                      .agent = *objects,
                      .install_agent = FLAGS_agent,
                      .timeout = TimeoutFromFlags(),
                      .wait = Waits()};
  Result<> joined = co_await Join(**hub, **member, app.clock(), std::move(options));
  co_return joined;
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return fleet::RunTool("join", "Makes a cluster a member of a fleet.", argc, argv,
                        fleet::JoinFromFlags);
}
