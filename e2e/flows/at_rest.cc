// SPDX-License-Identifier: Apache-2.0
// At rest, the programs of 50 namespaces write nothing but Leases. The operator's probes of their
// webhooks are dry runs, of which there are not more than of a few namespaces.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/request_log.h"
#include "e2e/framework/flow_fixture.h"
#include "operator/objects/webhook_configurations.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class AtRestFlow : public FlowFixture {
 protected:
  static bool WritesMoreThanALease(const LoggedRequest& request) {
    return request.IsWrite() && request.resource != "leases";
  }

  // The requests of the operator's programs in `time`.
  std::vector<LoggedRequest> RequestsIn(std::chrono::milliseconds time) {
    RequestLog log(TheProcessCluster().control_plane().audit_log());
    log.Skip();
    cluster().Pause(time);
    auto requests = log.Read();
    EXPECT_TRUE(requests) << requests.error();
    return requests ? *requests : std::vector<LoggedRequest>();
  }

  // Those of earlier flows stay in it for two minutes (operator/preferring_namespaces.h).
  static Condition GatesPreferencesOf(size_t namespaces) {
    return {"the webhook configuration has no former namespaces",
            [namespaces](Scene& scene) -> kube::Result<> {
              auto configuration = scene.Get(kMutatingWebhookConfigurations,
                                             std::string(api::kMutatingWebhookConfigurationName));
              if (!configuration) return configuration.error();
              auto preferring = operator_::PreferringNamespacesOf(*configuration);
              if (preferring && preferring->size() == namespaces) return kube::Ok();
              return kube::Error::NotFound("a configuration for " + std::to_string(namespaces));
            }};
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
};

TEST_F(AtRestFlow, NothingIsWrittenButLeases) {
  constexpr size_t kNamespacesOfFlow = 50;
  constexpr auto kRest = 60s;
  std::vector<std::unique_ptr<Scene>> scenes;
  for (size_t i = 0; i < kNamespacesOfFlow; ++i) {
    auto made = Scene::Make(cluster(), "rest", Json::object());
    ASSERT_TRUE(made) << made.error();
    scenes.push_back(std::move(*made));
    Flow(*scenes.back(), "a config").Do(Create(MakeConfig("only").Prefer("arm64", 10)));
  }
  for (const std::unique_ptr<Scene>& scene : scenes) {
    Flow flow(*scene, "a shard");
    flow.Await(ShardReady(), 240s)
        .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
        .Await(Prefers("web", {{"arm64", 10}}));
    if (flow.failed()) return;
  }
  Flow(scene(), "rest").Await(GatesPreferencesOf(kNamespacesOfFlow), 240s);
  AwaitRest();
  if (HasFailure()) return;

  std::vector<LoggedRequest> requests = RequestsIn(kRest);
  std::map<std::string, int> counts;
  int probes = 0;
  for (const LoggedRequest& request : requests) {
    EXPECT_FALSE(WritesMoreThanALease(request))
        << request.Kind() << " " << request.ns << "/" << request.name;
    ++counts[request.Kind()];
    probes += request.dry_run;
  }
  std::cout << kNamespacesOfFlow
            << " namespaces at rest: " << static_cast<double>(requests.size()) / kRest.count()
            << " requests a second\n";
  for (const auto& [kind, count] : counts)
    std::cout << "  " << count << " in " << kRest.count() << " s: " << kind << std::endl;
  // The programs run: the leaders renew their Leases.
  EXPECT_GT(counts["pod-placement-controller update leases"], 0);
  // One in two seconds.
  EXPECT_GT(probes, kRest.count() / 4);
  EXPECT_LE(probes, kRest.count() / 2 + 1);
  // A thousand shards make at most 40 requests a second.
  auto of_shards = std::count_if(
      requests.begin(), requests.end(),
      [](const LoggedRequest& request) { return request.account == api::kShardControllerName; });
  EXPECT_GT(of_shards, 0);
  EXPECT_LE(of_shards, 40 * kRest.count() * static_cast<long>(kNamespacesOfFlow) / 1000);
}

}  // namespace
}  // namespace e2e
