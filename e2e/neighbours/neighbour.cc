// SPDX-License-Identifier: Apache-2.0
#include "e2e/neighbours/neighbour.h"

#include <cstdlib>
#include <filesystem>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

Result<> Kubectl(std::vector<std::string> args) {
  args.push_back("--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig());
  auto finished = RunToEnd({.path = AssetOf("kubectl"), .args = std::move(args)});
  if (!finished) return finished.error();
  if (finished->status != 0) return Error::Unavailable("kubectl: " + finished->output);
  return Ok();
}

}  // namespace

std::string AssetOf(const std::string& name) {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  std::string path = std::string(assets == nullptr ? "" : assets) + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

std::string LogOf(const std::string& neighbour) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/" + neighbour + ".log";
}

Result<> ApplyCrds(const std::string& file) {
  Result<> applied = Kubectl({"apply", "--server-side", "--filename=" + file});
  if (!applied) return applied;
  return Kubectl({"wait", "--for=condition=Established", "--timeout=60s", "--filename=" + file});
}

}  // namespace e2e
