// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/soaked_process.h"

#include <algorithm>

#include "scheduling-policies/names.h"

namespace e2e {

namespace {

constexpr const char* kPrograms[] = {"operator", "cluster-controller", "webhook", "shard"};

SoakedProcess OfPod(const PodProcess& process, pid_t pid, const std::string& operator_namespace) {
  SoakedProcess soaked{.program = process.program_name(),
                       .name = process.ns() + "/" + process.name(),
                       .pid = pid,
                       .restarts = process.restarts(),
                       .ready = process.ready(),
                       .log_file = process.log_file()};
  const bool cluster_wide = process.ns() == operator_namespace;
  if (soaked.program == "webhook") {
    const bool policies = process.name().starts_with(policy::kWebhookName);
    soaked.program =
        cluster_wide ? (policies ? "policy webhook" : "cluster webhook") : "local webhook";
  }
  soaked.metrics = {.scheme = cluster_wide ? "https" : "http",
                    .host = process.ip(),
                    .port = cluster_wide ? "8443" : "8080"};
  // Certificates are rotated all the time, and no one else is in this network.
  soaked.metrics.tls.insecure = cluster_wide;
  return soaked;
}

}  // namespace

std::vector<SoakedProcess> ProcessesOf(ProcessCluster& cluster, const FleetLoad& fleet) {
  std::vector<SoakedProcess> processes;
  for (const char* program : kPrograms) {
    for (const PodProcess* process : cluster.kubelet().OfProgram(program, "")) {
      auto pid = process->pid();
      if (pid) processes.push_back(OfPod(*process, *pid, cluster.operator_namespace()));
    }
  }
  for (const auto& [name, program] : fleet.programs()) {
    if (program.process == nullptr || program.process->ExitStatus()) continue;
    processes.push_back({.program = name,
                         .name = name,
                         .pid = program.process->pid(),
                         .restarts = program.restarts,
                         .ready = true,
                         .log_file = program.spec.log_file,
                         .metrics = program.metrics});
  }
  return processes;
}

std::optional<SoakedProcess> FindProcess(ProcessCluster& cluster, const FleetLoad& fleet,
                                         const std::string& name) {
  std::vector<SoakedProcess> processes = ProcessesOf(cluster, fleet);
  auto found = std::find_if(processes.begin(), processes.end(),
                            [&](const SoakedProcess& process) { return process.name == name; });
  if (found == processes.end()) return std::nullopt;
  return std::move(*found);
}

}  // namespace e2e
