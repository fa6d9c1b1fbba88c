// SPDX-License-Identifier: Apache-2.0
// A restarted operator finds its objects as it applied them: it writes none of them again.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/request_log.h"
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class OperatorRestartFlow : public FlowFixture {
 protected:
  void CrashOperators() {
    std::map<PodProcess*, int> restarts;
    for (PodProcess* process :
         TheProcessCluster().kubelet().OfProgram("operator", cluster().operator_namespace())) {
      restarts[process] = process->restarts();
      process->Crash();
    }
    ASSERT_FALSE(restarts.empty());
    for (auto deadline = cluster().clock().Now() + cluster().timeout(); !restarts.empty();) {
      ASSERT_LT(cluster().clock().Now(), deadline) << "the operator does not start again";
      cluster().Pause(50ms);
      std::erase_if(restarts, [](const auto& entry) {
        return entry.first->restarts() > entry.second && entry.first->ready();
      });
    }
  }
  // The API server finds the restarted processes behind their Service: a dry run is not refused.
  Condition ConfigsAreAccepted() {
    return {"PodPlacementConfigs are accepted", [](Scene& scene) -> kube::Result<> {
              Json config = MakeConfig("probe").Priority(3).Prefer("arm64", 1).Build();
              kube::Result<Json> created = scene.CreateInADryRun(kConfigs, config);
              return created ? kube::Ok() : kube::Result<>(created.error());
            }};
  }
};

TEST_F(OperatorRestartFlow, WritesNothingThatIsRight) {
  Flow flow(scene(), "operator restart");
  flow.Do(Create(MakeConfig("first").Priority(1).Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  RequestLog log(TheProcessCluster().control_plane().audit_log());
  log.Skip();
  CrashOperators();
  if (HasFailure()) return;

  // The second config gets its status after the reconcile of everything that exists.
  flow.Await(ConfigsAreAccepted())
      .Do(Create(MakeConfig("second").Priority(2).Prefer("amd64", 10)))
      .Await(ShardReady());
  if (flow.failed()) return;
  auto requests = log.Read();
  ASSERT_TRUE(requests) << requests.error();
  std::set<std::string> written;
  for (const LoggedRequest& request : *requests) {
    if (!request.IsWrite() || request.account != "multiarch-tuning-operator") continue;
    if (request.ns == scene().ns()) written.insert(request.resource);
  }
  EXPECT_THAT(written, testing::IsSubsetOf({"podplacementconfigs/status", "leases", "events"}));
  EXPECT_TRUE(written.contains("podplacementconfigs/status"));
}

}  // namespace
}  // namespace e2e
