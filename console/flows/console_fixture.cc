// SPDX-License-Identifier: Apache-2.0
#include "console/flows/console_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/monitoring/metrics_reader.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr char kScript[] = "console/flows/browser/run.mjs";
constexpr char kModules[] = "../console_npm/node_modules";
constexpr auto kScenarioTimeout = 120s;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void ConsoleFixture::SetUp() {
  FlowFixture::SetUp();
  log_ = Variable("TEST_TMPDIR") + "/" + scene().ns() + "-console.log";
  auto started = ChildProcess::Start(
      {.path = "console/console",
       .args = {"--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig(),
                "--address=127.0.0.1:0", "--health-address=127.0.0.1:0",
                "--operator-namespace=" + cluster().operator_namespace(), "--logtostderr"},
       .log_file = log_});
  ASSERT_TRUE(started) << started.error();
  console_ = std::move(*started);
  Flow(scene(), "the console").Await({.name = "the console serves", .holds = [this](Scene&) {
                                        return FindAddress();
                                      }});
}

void ConsoleFixture::TearDown() {
  console_.reset();
  if (HasFailure()) std::cout << TailOfFile(log_) << std::endl;
  if (admin_bound_) {
    Result<> deleted = scene().Delete(kClusterRoleBindings, scene().ns());
    EXPECT_TRUE(deleted) << deleted.error();
  }
  FlowFixture::TearDown();
}

std::string ConsoleFixture::TokenOf(const std::string& account, const std::string& role,
                                    bool everywhere) {
  Result<std::string> token = NewToken(scene(), account);
  EXPECT_TRUE(token) << token.error();
  Json binding = {
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", everywhere ? "ClusterRoleBinding" : "RoleBinding"},
      {"metadata", {{"name", everywhere ? scene().ns() : account}}},
      {"roleRef",
       {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}}};
  binding["subjects"] =
      Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", scene().ns()}}});
  auto bound = scene().Create(everywhere ? kClusterRoleBindings : kRoleBindings, binding);
  EXPECT_TRUE(bound) << bound.error();
  admin_bound_ |= everywhere;
  return token ? *token : "";
}

Json ConsoleFixture::Given(const std::string& token) {
  return {{"address", address_},
          {"token", token},
          {"namespace", scene().ns()},
          {"screens", Variable("TEST_UNDECLARED_OUTPUTS_DIR")}};
}

void ConsoleFixture::RunScenario(const std::string& name, const Json& given) {
  const std::string modules = std::filesystem::absolute(kModules).string();
  auto finished = RunToEnd({.path = "node",
                            .args = {kScript, name, kube::DumpJson(given)},
                            .env = {{"NODE_MODULES", modules}}},
                           kScenarioTimeout);
  ASSERT_TRUE(finished) << finished.error();
  EXPECT_EQ(finished->status, 0) << finished->output;
  std::cout << finished->output << std::flush;
}

void ConsoleFixture::Kubectl(std::vector<std::string> args) {
  const ControlPlane& plane = TheProcessCluster().control_plane();
  auto finished = RunToEnd({.path = Variable("KUBEBUILDER_ASSETS") + "/kubectl",
                            .args = std::move(args),
                            .env = {{"KUBECONFIG", plane.admin_kubeconfig()}}});
  ASSERT_TRUE(finished) << finished.error();
  EXPECT_EQ(finished->status, 0) << finished->output;
}

Result<> ConsoleFixture::FindAddress() {
  constexpr std::string_view kBefore = "pages at ";
  const std::string log = TailOfFile(log_);
  const size_t at = log.find(kBefore);
  if (at == std::string::npos) return Error::NotFound(log);
  address_ = log.substr(at + kBefore.size());
  address_.resize(address_.find(';'));
  return Ok();
}

}  // namespace e2e
