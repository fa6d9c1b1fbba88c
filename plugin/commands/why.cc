// SPDX-License-Identifier: Apache-2.0
#include "plugin/commands/why.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "plugin/command/formats.h"
#include "plugin/config/why_config.h"
#include "plugin/pod/why_pod.h"
#include "plugin/read/read_config.h"
#include "plugin/read/read_pod.h"
#include "plugin/read/read_workload.h"
#include "plugin/workload/why_workload.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

Async<ExitCode> WhyPod(Tool& tool, kube::Client& client, kube::ObjectKey key) {
  std::string operator_namespace = tool.operator_namespace();
  Result<PodEvidence> evidence =
      co_await ReadPod(client, tool.clock(), std::move(key), std::move(operator_namespace));
  if (!evidence) co_return evidence.error();
  tool.Answer([&](Style style) { return WhyPod(*evidence, style); },
              [&] { return WhyPodAsJson(*evidence); });
  co_return kSuccess;
}

Async<ExitCode> WhyConfig(Tool& tool, kube::Client& client, kube::ObjectKey key) {
  std::string operator_namespace = tool.operator_namespace();
  Result<ConfigEvidence> evidence =
      co_await ReadConfig(client, std::move(key), std::move(operator_namespace));
  if (!evidence) co_return evidence.error();
  tool.Answer([&](Style style) { return WhyConfig(*evidence, style); },
              [&] { return WhyConfigAsJson(*evidence); });
  co_return kSuccess;
}

Async<ExitCode> WhyWorkload(Tool& tool, kube::Client& client, kube::Resource kind,
                            kube::ObjectKey key) {
  std::string operator_namespace = tool.operator_namespace();
  Result<WorkloadEvidence> evidence = co_await ReadWorkload(
      client, tool.clock(), kind, std::move(key), std::move(operator_namespace));
  if (!evidence) co_return evidence.error();
  tool.Answer([&](Style style) { return WhyWorkload(*evidence, style); },
              [&] { return WhyWorkloadAsJson(*evidence); });
  co_return kSuccess;
}

// `kind` and `name` as kubectl has them: "pod" "web-0", or "pod/web-0" "".
Async<ExitCode> Why(Tool& tool, std::string kind, std::string name) {
  if (const size_t slash = kind.find('/'); slash != std::string::npos && name.empty()) {
    name = kind.substr(slash + 1);
    kind.resize(slash);
  }
  if (name.empty()) co_return Error::Invalid("say which " + kind + ": its name is missing");
  const bool is_pod = kind == "pod" || kind == "pods" || kind == "po";
  const bool is_config =
      kind == "config" || kind == "ppc" || kind.starts_with("podplacementconfig");
  const std::optional<kube::Resource> workload = FindWorkloadKind(kind);
  if (!is_pod && !is_config && !workload)
    co_return Error::Invalid("there is no answer for the kind \"" + kind +
                             "\": ask for a pod, deployment, statefulset, replicaset, daemonset, "
                             "job or config");
  Result<kube::Client*> client = tool.Connect();
  if (!client) co_return client.error();
  kube::ObjectKey key{tool.ns(), std::move(name)};
  if (is_pod) co_return co_await WhyPod(tool, **client, std::move(key));
  if (is_config) co_return co_await WhyConfig(tool, **client, std::move(key));
  co_return co_await WhyWorkload(tool, **client, *workload, std::move(key));
}

}  // namespace

void AddWhy(CLI::App& app, Chosen& chosen) {
  struct Asked {
    std::string kind;
    std::string name;
  };
  auto asked = std::make_shared<Asked>();
  CLI::App* why =
      app.add_subcommand("why", "Why a pod is where it is or does not run, or what a config does");
  why->add_option("KIND", asked->kind,
                  "pod, deployment, statefulset, replicaset, daemonset, job, config")
      ->required();
  why->add_option("NAME", asked->name, "The name; or KIND/NAME");
  AddFormats(*why, {"json", "yaml"}, chosen);
  why->callback([asked, &chosen] {
    chosen.run = [asked](Tool& tool) { return Why(tool, asked->kind, asked->name); };
  });
}

}  // namespace plugin
