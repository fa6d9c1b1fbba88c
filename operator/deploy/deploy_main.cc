// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/deploy.h"
#include "operator/deploy/tool.h"

namespace {

kube::Async<> Deploy(kube::Client& client, kube::Clock& clock,
                     std::vector<kube::Unstructured> objects, std::chrono::seconds timeout) {
  return operator_::Deploy(client, clock, std::move(objects),
                           operator_::DeployOptions{.timeout = timeout});
}

}  // namespace

int main(int argc, char** argv) {
  operator_::DeployTool tool{
      .name = "deploy", .summary = "Installs the operator on a cluster.", .action = Deploy};
  return operator_::RunDeployTool(tool, argc, argv);
}
