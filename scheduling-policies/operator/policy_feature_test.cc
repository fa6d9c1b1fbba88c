// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using kube::Json;

TEST(PolicyFeatureTest, ValidatesBothKindsOfPolicies) {
  kube::FakeClock clock;
  kube::FakeApiServer api{clock};
  const OperandOptions options{.ns = "ops", .ns_uid = "uid-of-ops"};
  std::unique_ptr<Feature> feature = NewPolicyFeature(api, clock, "ops");
  Json object = ValidatingWebhookConfiguration(feature->ValidatedKinds(), "PEM", options);
  std::map<std::string, std::string> paths;
  std::set<std::string> names;
  for (const Json& webhook : object["webhooks"]) {
    names.insert(webhook["name"].get<std::string>());
    const Json& rule = webhook["rules"][0];
    if (rule["apiGroups"][0] != "kupid.gardener.cloud") continue;
    // Neither the status nor another subresource.
    ASSERT_EQ(rule["resources"].size(), 1u);
    std::string kind =
        rule["resources"][0].get<std::string>() + "." + rule["apiVersions"][0].get<std::string>();
    paths[kind] = webhook["clientConfig"]["service"]["path"];
    // A write of a policy changes nothing else, and deletions are not validated (I7).
    EXPECT_EQ(webhook["sideEffects"], "None") << kind;
    EXPECT_EQ(webhook["failurePolicy"], "Fail") << kind;
    EXPECT_EQ(rule["operations"], Json::array({"CREATE", "UPDATE"})) << kind;
    EXPECT_THAT(kube::DumpJson(webhook["matchConditions"]),
                testing::HasSubstr("not-by-the-operator"));
  }
  EXPECT_THAT(
      paths,
      testing::ElementsAre(
          testing::Pair("clusterpodschedulingpolicies.v1alpha1",
                        "/validate-kupid-gardener-cloud-v1alpha1-clusterpodschedulingpolicy"),
          testing::Pair("podschedulingpolicies.v1alpha1",
                        "/validate-kupid-gardener-cloud-v1alpha1-podschedulingpolicy")));
  // Those of both configs have other names.
  EXPECT_EQ(names.size(), 4u);
}

}  // namespace
}  // namespace operator_
