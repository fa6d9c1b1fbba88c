// SPDX-License-Identifier: Apache-2.0
#include "fleet/deploy/cluster_flags.h"

#include <gflags/gflags.h>

#include <utility>

#include "api/version.h"
#include "deploy/tool.h"
#include "kube/client/kubeconfig.h"

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; empty: $KUBECONFIG, else ~/.kube/config.");
DEFINE_string(context, "", "Context in the kubeconfig file; empty: its current context.");
DEFINE_int32(timeout, 180, "Seconds to wait until the tool is done.");

namespace fleet {

int RunTool(std::string_view name, std::string_view summary, int argc, char** argv,
            std::function<kube::Async<>(kube::App&)> main_function) {
  kube::AppOptions options{.name = name,
                           .summary = summary,
                           .version = api::kVersion,
                           .argc = argc,
                           .argv = argv,
                           .interactive = true};
  return kube::RunApp(options, std::move(main_function));
}

kube::Result<std::unique_ptr<kube::Client>> ClientFromFlags(kube::App& app) {
  kube::Result<kube::ClientConfig> config =
      kube::LoadKubeconfig(deploy::KubeconfigPath(FLAGS_kubeconfig), FLAGS_context);
  if (!config) return config.error();
  return deploy::NewToolClient(app, std::move(*config));
}

std::chrono::seconds TimeoutFromFlags() { return std::chrono::seconds(FLAGS_timeout); }

}  // namespace fleet
