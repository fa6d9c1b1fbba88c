// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/inspection_arguments.h"

#include <string>
#include <string_view>

namespace operator_ {
namespace {

// By this label the webhook of Microsoft Entra Workload ID gives a pod its federated token.
constexpr std::string_view kEntraLabel = "azure.workload.identity/use";
constexpr std::string_view kAzureDomain = ".azurecr.io";

}  // namespace

void AddInspectionArguments(Operand& operand, const OperandOptions& options) {
  operand.env = options.proxy_environment;
  if (!options.cloud_registries.empty())
    operand.args.push_back("--cloud-registries=" + options.cloud_registries);
  if (options.cloud_registries.find(kAzureDomain) != std::string::npos)
    operand.pod_labels.emplace_back(kEntraLabel, "true");
  operand.account_annotations = options.controller_annotations;
  for (const auto& [flag, path] : options.node_files) {
    operand.args.push_back("--" + flag + "=" + std::string(kHostDirectory) + path);
    // The folder is mounted, as a mounted file would not follow its replacement on the node.
    bool folder = flag.ends_with("-dir");
    operand.host_folders.insert(folder ? path : path.substr(0, path.rfind('/')));
  }
}

}  // namespace operator_
