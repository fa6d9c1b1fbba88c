// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/registry.h"

#include "e2e/cluster_harness/control_plane.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Result;

namespace {

// In memory, because many small files are slow on a busy disk.
std::string ConfigText() {
  return "version: 0.1\n"
         "log: {level: warn, accesslog: {disabled: true}}\n"
         "storage: {inmemory: {}, delete: {enabled: true}}\n"
         "http: {addr: '" +
         TestRegistry::address() + "', secret: integration-test}\n";
}

}  // namespace

Result<std::unique_ptr<TestRegistry>> TestRegistry::Start(const std::string& folder) {
  Result<> written = WriteFile(folder + "/registry.yml", ConfigText());
  if (!written) return written.error();
  std::string log = folder + "/registry.log";
  auto process = ChildProcess::Start(
      {.path = "docker-registry", .args = {"serve", folder + "/registry.yml"}, .log_file = log});
  if (!process) return process.error().Prefix("Debian package docker-registry");

  Result<Finished> answers =
      RunToEnd({.path = "curl",
                .args = {"--silent", "--show-error", "--fail", "--noproxy", "*", "--retry", "100",
                         "--retry-connrefused", "--retry-delay", "1", "--retry-max-time", "30",
                         "http://" + address() + "/v2/"}});
  if (!answers) return answers.error();
  if (answers->status != 0)
    return Error::Unavailable("the registry does not respond: " + TailOfFile(log));

  Result<Finished> pushed =
      RunToEnd({.path = "python3",
                .args = {"-B", "e2e/cluster/images/push_demo.py", address(), "/bin/true"}});
  if (!pushed) return pushed.error();
  if (pushed->status != 0)
    return Error::Unavailable("cannot push the demo images: " + pushed->output);
  return std::unique_ptr<TestRegistry>(new TestRegistry(std::move(*process)));
}

}  // namespace e2e
