// SPDX-License-Identifier: Apache-2.0
// Configs created in many namespaces at once, as a rollout to all namespaces does: none is refused
// because of the others, and no preference is lost (I4). Once they are deployed, nothing is written
// but Leases.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/request_log.h"
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

bool WritesMoreThanALease(const LoggedRequest& request) {
  return request.IsWrite() && request.resource != "leases";
}

// The requests of the operator's programs in `time`.
std::vector<LoggedRequest> RequestsIn(std::chrono::milliseconds time) {
  RequestLog log(TheProcessCluster().control_plane().audit_log());
  log.Skip();
  TheProcessCluster().Pause(time);
  auto requests = log.Read();
  EXPECT_TRUE(requests) << requests.error();
  return requests ? *requests : std::vector<LoggedRequest>();
}

// Waits until no event is left to be sent and every status is written.
void AwaitRest() {
  std::vector<LoggedRequest> requests;
  for (int attempt = 0; attempt < 20; ++attempt) {
    requests = RequestsIn(5s);
    if (std::none_of(requests.begin(), requests.end(), WritesMoreThanALease)) return;
  }
  ADD_FAILURE() << "no rest after 100 s; the last request: " << requests.back().Kind();
}

TEST_F(CreatedInManyNamespacesFlow, AllAreAcceptedNoPreferenceIsLostAndThenNothingIsWritten) {
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

  for (const std::unique_ptr<Scene>& scene : scenes) {
    Flow flow(*scene, "all shards are ready");
    flow.Await(ShardReady());
    if (flow.failed()) return;
  }
  AwaitRest();
  if (HasFailure()) return;
  constexpr auto kRest = 60s;
  std::vector<LoggedRequest> requests = RequestsIn(kRest);
  std::map<std::string, int> counts;
  for (const LoggedRequest& request : requests) {
    EXPECT_FALSE(WritesMoreThanALease(request))
        << "at rest: " << request.Kind() << " " << request.ns << "/" << request.name;
    ++counts[request.Kind()];
  }
  std::cout << kNamespacesOfFlow
            << " namespaces at rest: " << static_cast<double>(requests.size()) / kRest.count()
            << " requests a second\n";
  for (const auto& [kind, count] : counts)
    std::cout << "  " << count << " in " << kRest.count() << " s: " << kind << std::endl;
  // The programs run: the leaders renew their Leases.
  EXPECT_GT(counts["pod-placement-controller update leases"], 0);
}

}  // namespace
}  // namespace e2e
