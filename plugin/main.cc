// SPDX-License-Identifier: Apache-2.0
// kubectl-placement: explains to users where their pods may run and why. kubectl finds it in PATH:
//
//   kubectl placement why pod web-0 --namespace=shop
#include <gflags/gflags.h>

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/user_agent.h"
#include "api/version.h"
#include "deploy/tool.h"
#include "kube/base/app.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "plugin/command_line.h"
#include "plugin/pod/why_pod.h"
#include "plugin/read/read_pod.h"
#include "plugin/read/read_workload.h"
#include "plugin/workload/why_workload.h"

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; empty: $KUBECONFIG, else ~/.kube/config.");
DEFINE_string(context, "", "Context in the kubeconfig file; empty: its current context.");
DEFINE_string(namespace, "", "Namespace (-n); empty: that of the context.");
DEFINE_string(output, "", "Output (-o): empty for people, json for programs.");
DEFINE_validator(output, [](const char*, const std::string& value) {
  return value.empty() || value == "json";
});

namespace plugin {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

constexpr std::string_view kName = "kubectl-placement";
constexpr std::string_view kUsage =
    "kubectl placement why pod|deployment|statefulset|daemonset|job NAME [flags]";

Async<> Why(kube::App& app, std::string kind, std::string name) {
  const bool is_pod = kind == "pod" || kind == "pods" || kind == "po";
  const std::optional<kube::Resource> workload = FindWorkloadKind(kind);
  if (!is_pod && !workload) co_return Error::Invalid("of pods and workloads, not of " + kind);
  Result<kube::ClientConfig> config =
      kube::LoadKubeconfig(deploy::KubeconfigPath(FLAGS_kubeconfig), FLAGS_context);
  if (!config) co_return config.error();
  std::string ns = FLAGS_namespace.empty() ? config->ns : FLAGS_namespace;
  if (ns.empty()) ns = "default";
  auto client = kube::NewClient(app.executor(), app.clock(), std::move(*config),
                                {.user_agent = api::UserAgent(kName)});
  if (!client) co_return client.error();
  kube::ObjectKey key{std::move(ns), std::move(name)};
  const bool as_json = FLAGS_output == "json";
  if (is_pod) {
    Result<PodEvidence> evidence = co_await ReadPod(**client, app.clock(), std::move(key));
    if (!evidence) co_return evidence.error();
    std::cout << (as_json ? kube::PrettyJson(WhyPodAsJson(*evidence)) + "\n" : WhyPod(*evidence));
  } else {
    Result<WorkloadEvidence> evidence =
        co_await ReadWorkload(**client, app.clock(), *workload, std::move(key));
    if (!evidence) co_return evidence.error();
    std::cout << (as_json ? kube::PrettyJson(WhyWorkloadAsJson(*evidence)) + "\n"
                          : WhyWorkload(*evidence));
  }
  co_return kube::Ok();
}

// The last two words: "pod web-0", or "pod/web-0".
Async<> Run(kube::App& app, std::vector<std::string> words) {
  if (words.size() == 2) {
    const size_t slash = words[1].find('/');
    if (slash != std::string::npos) {
      words.push_back(words[1].substr(slash + 1));
      words[1].resize(slash);
    }
  }
  if (words.size() != 3 || words[0] != "why")
    co_return Error::Invalid("usage: " + std::string(kUsage));
  co_return co_await Why(app, words[1], words[2]);
}

}  // namespace
}  // namespace plugin

int main(int argc, char** argv) {
  plugin::CommandLine line = plugin::ParseCommandLine(argc, argv);
  kube::AppOptions options{
      .name = plugin::kName,
      .summary = "kubectl placement why pod NAME: says what keeps a pod from running.",
      .version = api::kVersion,
      .argc = static_cast<int>(line.flags.size()) - 1,
      .argv = line.flags.data(),
      .interactive = true};
  return kube::RunApp(options, [&line](kube::App& app) { return plugin::Run(app, line.words); });
}
