// SPDX-License-Identifier: Apache-2.0
// Namespaces that limit what runs in them: a shard for which a quota or a LimitRange leaves no room
// says so in the status, its pods get their preferences nevertheless, and it recovers when there is
// room.
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/quota.h"

namespace e2e {
namespace {

using kube::Ok;
using kube::Result;

constexpr Resource kLimitRanges{"", "v1", "limitranges", "LimitRange"};

class NamespaceLimitsFlow : public FlowFixture {
 protected:
  // `limits` applies to each container.
  Json LimitRange(Json limits) {
    Json range = {{"apiVersion", "v1"}, {"kind", "LimitRange"}};
    range["metadata"]["name"] = "limits";
    limits["type"] = "Container";
    range["spec"]["limits"] = Json::array({std::move(limits)});
    return range;
  }
  // The same as ShardReady(), and the status names no problem.
  void AwaitHealthy(Flow& flow) {
    flow.Await(ShardReady()).Await(HasStatusCondition(kConfigs, "only", "Degraded", "False"));
  }
};

TEST_F(NamespaceLimitsFlow, AQuotaWithoutRoomIsReported) {
  Flow flow(scene(), "a quota without room");
  flow.Do(Create(kResourceQuotas, MakeQuota({{"requests.cpu", "5m"}})))
      .Await(QuotaInForce())
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", "exceeded quota: limits"))
      .Check(HasStatusCondition(kConfigs, "only", "Available", "False"))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Do(Change(kResourceQuotas, kQuotaName, {{"spec", {{"hard", {{"requests.cpu", "1"}}}}}}));
  AwaitHealthy(flow);
  flow.Do(Create(MakePod("later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 10}}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
}

TEST_F(NamespaceLimitsFlow, AQuotaOfObjectsIsReported) {
  for (const char* counted : {"secrets", "services", "pods"}) {
    Flow flow(scene(), std::string("a quota of ") + counted);
    // A namespace has no other objects of these kinds.
    flow.Do(Create(kResourceQuotas, MakeQuota({{counted, "0"}})))
        .Await(QuotaInForce())
        .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
        .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", "exceeded quota: limits"))
        .Do(Delete(kResourceQuotas, kQuotaName));
    AwaitHealthy(flow);
    flow.Do(Delete(kConfigs, "only")).Await(ShardRemoved());
    if (flow.failed()) return;
  }
}

TEST_F(NamespaceLimitsFlow, ALimitRangeThatTheShardDoesNotMeetIsReported) {
  struct Row {
    Json limits;
    std::string message;
  };
  const Row rows[] = {
      {{{"max", {{"cpu", "100m"}}}}, "maximum cpu usage per Container is 100m"},
      {{{"min", {{"memory", "256Mi"}}}}, "minimum memory usage per Container is 256Mi"},
      {{{"maxLimitRequestRatio", {{"cpu", "2"}}}}, "cpu max limit to request ratio per Container"},
  };
  for (const Row& row : rows) {
    Flow flow(scene(), row.message);
    flow.Do(Create(kLimitRanges, LimitRange(row.limits)))
        .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
        .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", row.message))
        .Do(Delete(kLimitRanges, "limits"));
    AwaitHealthy(flow);
    flow.Do(Delete(kConfigs, "only")).Await(ShardRemoved());
    if (flow.failed()) return;
  }
}

// Defaults would not fit the shard: its containers state their requests and limits.
TEST_F(NamespaceLimitsFlow, DefaultsOfALimitRangeDoNotConcernTheShard) {
  Json limits = {{"default", {{"cpu", "1m"}, {"memory", "1Mi"}, {"ephemeral-storage", "64Mi"}}},
                 {"defaultRequest", {{"cpu", "1m"}, {"memory", "1Mi"}}}};
  Flow flow(scene(), "defaults of a LimitRange");
  flow.Do(Create(kLimitRanges, LimitRange(limits)))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)));
  AwaitHealthy(flow);
}

}  // namespace
}  // namespace e2e
