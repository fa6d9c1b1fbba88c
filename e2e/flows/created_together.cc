// SPDX-License-Identifier: Apache-2.0
// I4: a config and a pod that it selects, created in the same instant: whoever sees the pod first, the preference is not
// missed.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "e2e/framework/flow_test.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Async;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;

class CreatedTogetherFlow : public FlowTest {};

uint64_t VersionOf(const Json& object) {
  return std::strtoull(kube::StringAt(object, "metadata.resourceVersion").c_str(), nullptr, 10);
}

// What became of one creation.
struct Creation {
  bool done = false;
  uint64_t version = 0;
  std::string failure;
};

boost::asio::awaitable<void> CreateLater(Cluster& cluster, kube::Resource resource, Json object, kube::Duration delay,
                                         Creation* creation) {
  Result<> slept = co_await cluster.clock().Sleep(delay);
  (void)slept;
  kube::Unstructured unstructured(std::move(object));
  auto created = co_await kube::CreateObject(cluster.client(), resource, std::move(unstructured));
  if (created) {
    creation->version = VersionOf(created->body());
  } else {
    creation->failure = created.error().ToString();
  }
  creation->done = true;
}

Json InNamespace(Json object, const std::string& ns) {
  object["metadata"]["namespace"] = ns;
  return object;
}

// Each round selects pods by a label of its own, so that nothing older can do the work. After each round but every tenth
// the config before goes, so that the shard is sometimes there, sometimes coming and sometimes going.
TEST_F(CreatedTogetherFlow, ThePreferenceIsNeverMissed) {
  constexpr int kRounds = 200;
  kube::TaskGroup tasks(cluster().io().get_executor());
  int missed = 0;
  int by_shard = 0;
  int pod_was_first = 0;
  int preferred_all_the_same = 0;
  // A config takes longer to create than a pod, as it is validated. The pod's start follows whoever was late.
  kube::Duration pod_delay = 5ms;
  std::string previous;
  for (int round = 0; round < kRounds && missed == 0; ++round) {
    std::string name = "r" + std::to_string(round);
    ConfigBuilder config = MakeConfig(name).Priority(round % 256).ForLabel("round", name).Prefer("arm64", 1 + round % 100);
    PodBuilder pod = MakePod(name).Label("round", name).Image(Image("demo/multi:1"));

    Creation of_config;
    Creation of_pod;
    tasks.Spawn("config", CreateLater(cluster(), kConfigs, InNamespace(config.Build(), scene().ns()), 0ms, &of_config));
    tasks.Spawn("pod", CreateLater(cluster(), kPods, InNamespace(pod.Build(), scene().ns()), pod_delay, &of_pod));
    while (!of_config.done || !of_pod.done) cluster().Pause(1ms);
    ASSERT_EQ(of_config.failure, "");
    ASSERT_EQ(of_pod.failure, "");

    Flow flow(scene(), "round " + std::to_string(round));
    flow.Await(Ungated(name));
    if (flow.failed()) return;
    const PodHistory* history = scene().pods().Find(name);
    bool preferred = PreferencesOf(history->last()) == std::map<std::string, int>{{"arm64", 1 + round % 100}};
    // Of two that came in the same instant the pod may have been first, and have been let go before there was a config.
    // The API server has put them in order: only a config that was there before the pod can be missed.
    if (of_config.version > of_pod.version) {
      ++pod_was_first;
      preferred_all_the_same += preferred ? 1 : 0;
      pod_delay += 1ms;
    } else {
      pod_delay = std::max<kube::Duration>(pod_delay - 1ms, 0ms);
      missed += preferred ? 0 : 1;
      EXPECT_TRUE(preferred) << "the preference of round " << round << " was missed\n" << scene().Describe(name);
    }
    by_shard += LabelOf(history->last(), std::string(api::kLocalGateLabel)) == api::kRemoved ? 1 : 0;

    if (!previous.empty() && round % 10 != 0) {
      Flow(scene(), "the round before goes").Do(Delete(kConfigs, previous));
    }
    previous = name;
  }
  std::cout << kRounds << " rounds: the pod was first in " << pod_was_first << " (of which "
            << preferred_all_the_same << " had the preference all the same); the shard set it in " << by_shard
            << std::endl;
  EXPECT_LT(pod_was_first, kRounds * 3 / 4) << "too seldom was there a config to be missed";
  Flow(scene(), "all rounds").Never(ClusterGateGoesBeforeLocal()).Never(GateAndItsWorkGoApart());
  (void)cluster().Run(tasks.Stop(cluster().clock(), 1s));
}

// A pod that came while the shard's webhook was away has no local gate; it gets its preference all the same.
TEST_F(CreatedTogetherFlow, WithoutWebhookThePreferenceIsSetByTheClustersController) {
  Flow(scene(), "the shard's webhook is away")
      .Do(Create(MakeConfig("only").ForLabel("app", "x").Prefer("arm64", 42)))
      .Await(ShardReady())
      // The entry does not select it any more, the config still does.
      .Do({.name = "take the webhook's entries away again and again while the pod is created",
           .act = [this](Scene& scene) -> Result<> {
             for (int tries = 0; tries < 20; ++tries) {
               std::string name = "bare" + std::to_string(tries);
               (void)scene.Delete(kMutatingWebhooks, api::ShardWebhookConfigurationName(scene.ns()));
               auto created = scene.Create(
                   kPods, MakePod(name).Label("app", "x").Image(Image("demo/multi:1")).Build());
               if (!created) return created.error();
             }
             return Ok();
           }})
      .Await(AllUngated(20))
      .Never(ClusterGateGoesBeforeLocal())
      .Never(GateAndItsWorkGoApart());
  for (int i = 0; i < 20; ++i) {
    Flow(scene(), "preference").Check(Prefers("bare" + std::to_string(i), {{"arm64", 42}}));
  }
}

}  // namespace
}  // namespace e2e
