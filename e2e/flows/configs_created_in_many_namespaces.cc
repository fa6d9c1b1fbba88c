// SPDX-License-Identifier: Apache-2.0
// Configs created in many namespaces at once, as a rollout to all namespaces does: none is refused
// because of the others, and no preference is lost (I4).
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/framework/flow_fixture.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class CreatedInManyNamespacesFlow : public FlowFixture {};

// A config, and a pod that it selects and that is created after the config was accepted.
struct Pair {
  Scene* scene = nullptr;
  std::string name;
  int weight = 0;
  // Empty if the API server accepted it.
  std::string config_failure;
  std::string pod_failure;
  bool done = false;
};

kube::Async<kube::Unstructured> CreateIn(Scene& scene, kube::Resource resource, Json object) {
  object["metadata"]["namespace"] = scene.ns();
  kube::Unstructured unstructured(std::move(object));
  co_return co_await kube::CreateObject(scene.cluster().client(), resource,
                                        std::move(unstructured));
}

boost::asio::awaitable<void> CreatePair(Pair* pair) {
  ConfigBuilder config = MakeConfig(pair->name);
  config.Priority(pair->weight).ForLabel("pair", pair->name).Prefer("arm64", pair->weight);
  Json config_object = config.Build();
  auto config_created = co_await CreateIn(*pair->scene, kConfigs, std::move(config_object));
  if (!config_created) pair->config_failure = config_created.error().ToString();

  PodBuilder pod = MakePod(pair->name);
  pod.Label("pair", pair->name).Image(pair->scene->cluster().Image("demo/multi:1"));
  Json pod_object = pod.Build();
  auto pod_created = co_await CreateIn(*pair->scene, kPods, std::move(pod_object));
  if (!pod_created) pair->pod_failure = pod_created.error().ToString();
  pair->done = true;
}

// Holder and transitions of the Leases in the operator's namespace.
std::map<std::string, std::string> Leaders(Cluster& cluster) {
  std::map<std::string, std::string> leaders;
  kube::ListOptions options{.ns = cluster.operator_namespace()};
  auto leases = cluster.Run(kube::ListObjects(cluster.client(), kLeases, options));
  EXPECT_TRUE(leases) << leases.error();
  if (!leases) return leaders;
  for (const kube::Unstructured& lease : leases->items) {
    leaders[lease.metadata().name()] =
        kube::StringAt(lease.body(), "spec.holderIdentity") +
        ", transitions: " + std::to_string(kube::IntAt(lease.body(), "spec.leaseTransitions"));
  }
  return leaders;
}

TEST_F(CreatedInManyNamespacesFlow, AllAreAcceptedAndNoPreferenceIsLost) {
  constexpr size_t kNamespacesOfFlow = 50;
  constexpr size_t kConfigsInEach = 4;
  std::vector<std::unique_ptr<Scene>> scenes;
  for (size_t i = 0; i < kNamespacesOfFlow; ++i) {
    auto made = Scene::Make(cluster(), "many", Json::object());
    ASSERT_TRUE(made) << made.error();
    scenes.push_back(std::move(*made));
  }
  const std::map<std::string, std::string> leaders = Leaders(cluster());
  ASSERT_GE(leaders.size(), 2u);

  std::vector<Pair> pairs(kNamespacesOfFlow * kConfigsInEach);
  kube::TaskGroup tasks(cluster().io().get_executor());
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].scene = scenes[i % kNamespacesOfFlow].get();
    pairs[i].weight = 1 + static_cast<int>(i / kNamespacesOfFlow);
    pairs[i].name = "p" + std::to_string(pairs[i].weight);
    tasks.Spawn("pair", CreatePair(&pairs[i]));
  }
  while (!std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.done; }))
    cluster().Pause(10ms);
  kube::Result<> stopped = cluster().Run(tasks.Stop(cluster().clock(), 1s));
  EXPECT_TRUE(stopped) << stopped.error();

  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.scene->ns() + "/" + pair.name);
    EXPECT_EQ(pair.config_failure, "");
    EXPECT_EQ(pair.pod_failure, "");
  }
  if (HasFailure()) return;
  for (const Pair& pair : pairs) {
    Flow flow(*pair.scene, pair.name);
    flow.Await(Ungated(pair.name)).Check(Prefers(pair.name, {{"arm64", pair.weight}}));
    if (flow.failed()) return;
  }
  std::map<std::string, std::string> leaders_then = Leaders(cluster());
  for (const auto& [lease, leader] : leaders) EXPECT_EQ(leaders_then[lease], leader) << lease;
}

}  // namespace
}  // namespace e2e
