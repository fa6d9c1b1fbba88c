// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/tool.h"
#include "operator/deploy/undeploy.h"

namespace {

kube::Async<> Undeploy(kube::Client& client, kube::Clock& clock,
                       std::vector<kube::Unstructured> objects, std::chrono::seconds timeout) {
  return operator_::Undeploy(client, clock, std::move(objects),
                             operator_::UndeployOptions{.timeout = timeout});
}

}  // namespace

int main(int argc, char** argv) {
  // All components, so users need not remember which ones were deployed.
  operator_::DeployTool tool{.name = "undeploy",
                             .summary = "Removes the operator and all objects that it created.",
                             .action = Undeploy,
                             .all_components = true};
  return operator_::RunDeployTool(tool, argc, argv);
}
