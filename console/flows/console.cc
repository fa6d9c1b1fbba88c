// SPDX-License-Identifier: Apache-2.0
// The pages of the console in a browser, as an administrator and as a tenant, and the login.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "console/flows/console_fixture.h"
#include "e2e/framework/pod_history.h"

namespace e2e {
namespace {

class ConsoleFlow : public ConsoleFixture {
 protected:
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
