// SPDX-License-Identifier: Apache-2.0
// The console in a browser, on a real API server: its pages as an administrator and as a tenant,
// and its login. The console has the administrator's kubeconfig: it must not use the credentials in
// it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/pod_history.h"
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

class ConsoleFlow : public FlowFixture {
 protected:
  void SetUp() override {
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
  void TearDown() override {
    console_.reset();
    if (HasFailure()) std::cout << TailOfFile(log_) << std::endl;
    if (admin_bound_) {
      Result<> deleted = scene().Delete(kClusterRoleBindings, scene().ns());
      EXPECT_TRUE(deleted) << deleted.error();
    }
    FlowFixture::TearDown();
  }

  // A token of a new ServiceAccount with this ClusterRole, in the namespace or in all.
  std::string TokenOf(const std::string& account, const std::string& role, bool everywhere) {
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
  std::string AdminToken() { return TokenOf("admin", "cluster-admin", /*everywhere=*/true); }

  // A pod that is placed, one that waits for another controller, and a config.
  void CreateObjects() {
    Json gates = Json::array({{{"name", "example.com/wait"}}});
    Flow(scene(), "objects to look at")
        .Do(Create(MakeConfig("only").Prefer("arm64", 77).ForLabel("app", "web")))
        .Await(ShardReady())
        .Do(Create(MakePod("web").Label("app", "web").Image(Image("demo/arm64-amd64:1"))))
        .Do(Create(MakePod("waits")
                       .Image(Image("demo/arm64-amd64:1"))
                       .Set("/spec/schedulingGates", gates)))
        .Await(Ungated("web"));
  }

  // The objects of a hub. Nothing reconciles them.
  void CreateFleetObjects() {
    std::vector<std::string> crds = {"apply", "--server-side"};
    for (const auto& file : std::filesystem::directory_iterator("fleet/api/crds")) {
      if (file.path().stem() != "kustomization")
        crds.push_back("--filename=" + file.path().string());
    }
    Kubectl(std::move(crds));
    Kubectl({"wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinition",
             "--all"});
    Kubectl({"apply", "--server-side", "--filename=console/flows/fleet.yaml"});
    Kubectl(
        {"apply", "--server-side", "--subresource=status", "--filename=console/flows/fleet.yaml"});
  }

  Json Given(const std::string& token) {
    return {{"address", address_},
            {"token", token},
            {"namespace", scene().ns()},
            {"screens", Variable("TEST_UNDECLARED_OUTPUTS_DIR")}};
  }
  void RunScenario(const std::string& name, const Json& given) {
    const std::string modules = std::filesystem::absolute(kModules).string();
    auto finished = RunToEnd({.path = "node",
                              .args = {kScript, name, kube::DumpJson(given)},
                              .env = {{"NODE_MODULES", modules}}},
                             kScenarioTimeout);
    ASSERT_TRUE(finished) << finished.error();
    EXPECT_EQ(finished->status, 0) << finished->output;
    std::cout << finished->output << std::flush;
  }

 private:
  void Kubectl(std::vector<std::string> args) {
    const ControlPlane& plane = TheProcessCluster().control_plane();
    auto finished = RunToEnd({.path = Variable("KUBEBUILDER_ASSETS") + "/kubectl",
                              .args = std::move(args),
                              .env = {{"KUBECONFIG", plane.admin_kubeconfig()}}});
    ASSERT_TRUE(finished) << finished.error();
    EXPECT_EQ(finished->status, 0) << finished->output;
  }
  Result<> FindAddress() {
    constexpr std::string_view kBefore = "pages at ";
    const std::string log = TailOfFile(log_);
    const size_t at = log.find(kBefore);
    if (at == std::string::npos) return Error::NotFound(log);
    address_ = log.substr(at + kBefore.size());
    address_.resize(address_.find(';'));
    return Ok();
  }

  std::string log_;
  std::string address_;
  std::unique_ptr<ChildProcess> console_;
  bool admin_bound_ = false;
};

TEST_F(ConsoleFlow, EachPage) {
  CreateObjects();
  CreateFleetObjects();
  RunScenario("eachPage", Given(AdminToken()));
}

TEST_F(ConsoleFlow, WrongToken) { RunScenario("wrongToken", Given(AdminToken())); }

TEST_F(ConsoleFlow, ATenantOfOneNamespace) {
  CreateObjects();
  auto other = Scene::Make(cluster(), "other", Json::object());
  ASSERT_TRUE(other) << other.error();
  auto secret =
      (*other)->Create(kPods, MakePod("secret").Image(Image("demo/arm64-amd64:1")).Build());
  ASSERT_TRUE(secret) << secret.error();
  Json given = Given(TokenOf("tenant", "view", /*everywhere=*/false));
  given["other"] = (*other)->ns();
  RunScenario("tenant", given);
}

TEST_F(ConsoleFlow, AConfigWhileItIsTyped) {
  CreateObjects();
  RunScenario("newConfig", Given(AdminToken()));
}

}  // namespace
}  // namespace e2e
