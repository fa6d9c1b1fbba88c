// SPDX-License-Identifier: Apache-2.0
// A namespace that denies all traffic by default: the operator's NetworkPolicies allow what a shard
// needs. The network of the tests does not enforce policies, so these flows look at the policies.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class NetworkPoliciesFlow : public FlowFixture {
 protected:
  // The rules of `direction` ("Ingress", "Egress") of all policies that select a pod with `labels`;
  // nullopt if none of them restricts that direction.
  std::optional<Json> Rules(const std::vector<Json>& policies, const Json& labels,
                            const std::string& direction) {
    std::optional<Json> rules;
    for (const Json& policy : policies) {
      const Json selector = policy["spec"]["podSelector"].value("matchLabels", Json::object());
      bool selects = std::all_of(selector.items().begin(), selector.items().end(), [&](auto label) {
        return labels.value(label.key(), "") == label.value();
      });
      const Json types = policy["spec"]["policyTypes"];
      if (!selects || std::find(types.begin(), types.end(), direction) == types.end()) continue;
      if (!rules) rules = Json::array();
      std::string key = direction == "Ingress" ? "ingress" : "egress";
      for (const Json& rule : policy["spec"].value(key, Json::array())) rules->push_back(rule);
    }
    return rules;
  }
  // Whether one of `rules` admits every client to `port`.
  bool Admits(const Json& rules, int port) {
    for (const Json& rule : rules) {
      if (rule.contains("from") || rule.contains("to")) continue;
      if (!rule.contains("ports")) return true;
      for (const Json& entry : rule["ports"]) {
        if (kube::IntAt(entry, "port") == port) return true;
      }
    }
    return false;
  }
};

TEST_F(NetworkPoliciesFlow, OfAShardAllowWhatItNeeds) {
  Json deny = {{"apiVersion", "networking.k8s.io/v1"}, {"kind", "NetworkPolicy"}};
  deny["metadata"]["name"] = "default-deny";
  deny["spec"] = {{"podSelector", Json::object()}, {"policyTypes", {"Ingress", "Egress"}}};
  Flow flow(scene(), "a namespace that denies all traffic");
  flow.Do(Create(kNetworkPolicies, deny))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady());
  if (flow.failed()) return;

  auto policies = scene().List(kNetworkPolicies);
  ASSERT_TRUE(policies) << policies.error();
  EXPECT_EQ(policies->size(), 3u);
  auto labels_of = [&](std::string_view deployment) {
    auto found = scene().Get(kDeployments, std::string(deployment));
    EXPECT_TRUE(found) << found.error();
    return found ? (*found)["spec"]["template"]["metadata"]["labels"] : Json::object();
  };
  // The API server calls the webhook from any address, and the controller calls the API server at
  // any.
  Json webhook = *Rules(*policies, labels_of(api::kShardWebhookName), "Ingress");
  EXPECT_TRUE(Admits(webhook, 9443)) << webhook;
  Json controller = *Rules(*policies, labels_of(api::kShardControllerName), "Egress");
  EXPECT_TRUE(Admits(controller, 6443)) << controller;
  // Nothing more.
  EXPECT_FALSE(Admits(webhook, 8080)) << webhook;
  Json to_controller = *Rules(*policies, labels_of(api::kShardControllerName), "Ingress");
  EXPECT_FALSE(Admits(to_controller, 8080)) << to_controller;
  Json from_webhook = *Rules(*policies, labels_of(api::kShardWebhookName), "Egress");
  EXPECT_FALSE(Admits(from_webhook, 6443)) << from_webhook;
}

}  // namespace
}  // namespace e2e
