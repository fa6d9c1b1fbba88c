// SPDX-License-Identifier: Apache-2.0
// The program kubectl-placement on a real API server, as an administrator and as a tenant who may
// view one namespace.
#include <cstdlib>
#include <fstream>
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
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandsFlow : public FlowFixture {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    const char* tmp = std::getenv("TEST_TMPDIR");
    const std::string path =
        std::string(tmp == nullptr ? "/tmp" : tmp) + "/" + scene().ns() + "-" + name;
    std::ofstream(path) << text;
    return path;
  }
  // The kubeconfig of a user with the ClusterRole `view` in the scene's namespace.
  std::string Tenant() {
    Result<std::string> token = NewToken(scene(), "tenant");
    EXPECT_TRUE(token) << token.error();
    Json binding = {
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", "RoleBinding"},
        {"metadata", {{"name", "tenant"}}},
        {"roleRef",
         {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "view"}}}};
    binding["subjects"] = Json::array(
        {{{"kind", "ServiceAccount"}, {"name", "tenant"}, {"namespace", scene().ns()}}});
    auto bound = scene().Create(kRoleBindings, binding);
    EXPECT_TRUE(bound) << bound.error();
    const std::string path = File("tenant.kubeconfig", "");
    Result<> written =
        TheProcessCluster().control_plane().WriteKubeconfig(path, File("token", *token));
    EXPECT_TRUE(written) << written.error();
    return path;
  }
  std::string Admin() { return TheProcessCluster().control_plane().admin_kubeconfig(); }

  Finished Run(const std::string& kubeconfig, std::vector<std::string> words) {
    const std::vector<std::string> flags = {
        "--namespace=" + scene().ns(), "--operator-namespace=" + cluster().operator_namespace()};
    words.insert(words.begin() + 1, flags.begin(), flags.end());
    auto finished = RunToEnd({.path = "plugin/kubectl-placement",
                              .args = std::move(words),
                              .env = {{"KUBECONFIG", kubeconfig}}});
    EXPECT_TRUE(finished) << finished.error();
    return finished ? *finished : Finished{-1, ""};
  }
  // What the program prints once it says `text`: rights take effect with a delay.
  std::string Once(const std::string& kubeconfig, const std::vector<std::string>& words,
                   const std::string& text) {
    std::string output;
    const Condition says{.name = "kubectl placement " + words[0] + " says " + text,
                         .holds = [&, this](Scene&) -> Result<> {
                           output = Run(kubeconfig, words).output;
                           if (output.find(text) != std::string::npos) return Ok();
                           return Error::NotFound(output);
                         }};
    Flow(scene(), "a command").Await(says);
    return output;
  }
};

TEST_F(CommandsFlow, OfAnAdministrator) {
  Flow(scene(), "a placed pod")
      .Do(Create(MakeConfig("only").Prefer("arm64", 77).ForLabel("app", "web")))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Label("app", "web").Image(Image("demo/arm64-amd64:1"))))
      .Await(Ungated("web"));
  // Facts are written after the pod, too.
  const std::string why = Once(Admin(), {"why", "pod/web"}, "the registry said so");
  EXPECT_EQ(Run(Admin(), {"why", "pod/web"}).status, 0);
  EXPECT_THAT(why, AllOf(HasSubstr("prefers   arm64 77: by PodPlacementConfig only\n"),
                         HasSubstr("config    only (priority 0): it selects the pod\n"),
                         HasSubstr("linux/amd64 linux/arm64; the registry said so"),
                         HasSubstr("requires  In amd64, arm64\n"), Not(HasSubstr("not read"))));
  EXPECT_THAT(Run(Admin(), {"why", "config", "only"}).output,
              HasSubstr("1 pods    prefer arm64 77: web\n"));
  Finished inspected = Run(Admin(), {"inspect", "--as-pod", "web", "-o", "json"});
  EXPECT_EQ(inspected.status, 0) << inspected.output;
  EXPECT_THAT(inspected.output, HasSubstr("\"platforms\": \"linux/amd64 linux/arm64\""));
  Flow(scene(), "an image with a wrong program")
      .Do(Create(MakePod("wrong").Image(Image("demo/wrong-program:1"))));
  inspected = Run(Admin(), {"inspect", "--as-pod", "wrong", "--deep"});
  EXPECT_EQ(inspected.status, 3) << inspected.output;
  EXPECT_THAT(inspected.output, HasSubstr("does not run on amd64: ELF 64-bit arm64"));
  EXPECT_THAT(Run(Admin(), {"report"}).output, HasSubstr("Pod web"));
  EXPECT_THAT(Run(Admin(), {"status"}).output, HasSubstr("1 PodPlacementConfigs\n"));
  EXPECT_THAT(Run(Admin(), {"__complete", "why", "config", "o"}).output, HasSubstr("only\n:4\n"));
}

TEST_F(CommandsFlow, ASimulationIsWhatHappens) {
  const std::string manifest = File("deployment.yaml", R"(
kind: Pod
metadata: {name: web, labels: {app: web}}
spec: {containers: [{name: a, image: ")" + Image("demo/arm64-amd64:1") +
                                                           R"("}]}
---
kind: PodPlacementConfig
metadata: {name: only}
spec:
  labelSelector: {matchLabels: {app: web}}
  plugins: {nodeAffinityScoring: {enabled: true, platforms: [{architecture: arm64, weight: 77}]}}
)");
  Finished simulated = Run(Admin(), {"simulate", "-f", manifest, "-o", "json"});
  EXPECT_EQ(simulated.status, 0) << simulated.output;
  Result<Json> answer = kube::ParseJson(simulated.output);
  ASSERT_TRUE(answer) << simulated.output;
  const Json& outcome = answer->at("pods").at(0);
  EXPECT_EQ(outcome["preferences"][0]["weight"], 77);
  EXPECT_EQ(outcome["wouldRun"], true);

  Flow(scene(), "the same for real")
      .Do(Create(MakeConfig("only").Prefer("arm64", 77).ForLabel("app", "web")))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Label("app", "web").Image(Image("demo/arm64-amd64:1"))))
      .Await(Requires("web", {"amd64", "arm64"}))
      .Check(Prefers("web", {{"arm64", 77}}));

  const std::string absent = File("absent.yaml", R"(
kind: Pod
metadata: {name: absent}
spec: {containers: [{name: a, image: ")" + Image("demo/absent:1") +
                                                     R"("}]}
)");
  Finished refused = Run(Admin(), {"simulate", "-f", absent});
  EXPECT_EQ(refused.status, 3) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("result    would not run\n"));
}

TEST_F(CommandsFlow, OfATenant) {
  Flow(scene(), "a placed pod")
      .Do(Create(MakePod("web").Image(Image("demo/arm64-amd64:1"))))
      .Await(Ungated("web"));
  const std::string tenant = Tenant();
  // Events are written after the pod.
  const std::string why = Once(tenant, {"why", "pod", "web"}, "ArchAwarePredicateSet");
  EXPECT_THAT(why, AllOf(HasSubstr("not read  nodes: "), HasSubstr("not read  what is known of")));
  EXPECT_THAT(Run(tenant, {"report"}).output,
              AllOf(HasSubstr("Pod web"), HasSubstr("not read  nodes: ")));
  const Finished everything = Run(tenant, {"report", "-A"});
  EXPECT_EQ(everything.status, 1);
  EXPECT_THAT(everything.output, HasSubstr("forbidden"));
  EXPECT_EQ(Run(tenant, {"why", "pod", "absent"}).status, 1);
  EXPECT_EQ(Run(tenant, {"why", "pod", "web", "--unknown"}).status, 2);
}

}  // namespace
}  // namespace e2e
