// SPDX-License-Identifier: Apache-2.0
// What the first PodPlacementConfig of a namespace costs the API server: one request for each
// object of the shard, two for the status, and those that the comments name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/call_kind.h"
#include "kube/testing/matchers.h"
#include "operator/announcements/announcer.h"
#include "operator/testing/harness.h"
#include "operator/webhooks/config_webhooks.h"

namespace operator_ {
namespace {

using kube::Json;
using kube::Result;
using testing::ElementsAre;
using testing::Pair;
using namespace std::chrono_literals;

class NewNamespaceTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
    h_.SetNamespace("shop", {});
    h_.Pass(30s);
    begin_ = h_.api.calls().size();
  }
  ~NewNamespaceTest() override {
    EXPECT_THAT(kube::Run(h_.io, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }
  // As the API server does, with the validating webhook. One that prefers architectures also
  // changes the webhook configuration of the cluster, once for all namespaces of a moment, and has
  // an entry in that of its namespace.
  void CreateConfig(const std::string& name, int priority) {
    Json config = api::MakeConfig(name, "shop").Uid("uid-" + name).Priority(priority).Build();
    kube::AdmissionRequest request;
    request.operation = "CREATE";
    request.ns = "shop";
    request.object_json = kube::DumpJson(config);
    Result<kube::AdmissionResponse> response =
        kube::Run(h_.io, webhooks_.ValidateConfig(std::move(request)));
    ASSERT_THAT(response, kube::IsOk());
    ASSERT_TRUE(response->allowed()) << response->message();
    h_.api.CreateJson(Harness::kConfigs, config);
  }
  // The requests since the last call.
  std::map<std::string, int> Requests() { return kube::CountKinds(h_.api.calls(), begin_); }
  bool IsAvailable(const std::string& name) {
    return h_.Condition("shop", name, "Available") == "True AsExpected";
  }

  Harness h_;
  kube::Metrics metrics_;
  kube::TaskGroup tasks_{h_.io.get_executor()};
  Announcer announcer_{
      h_.api, h_.clock, tasks_, {.owner = {}, .ahead = 0ms}, metrics_.AddCounter("failures", "")};
  ConfigWebhooks webhooks_{h_.api, h_.clock, announcer_};
  size_t begin_ = 0;  // of the requests that were not counted yet
};

TEST_F(NewNamespaceTest, OneRequestForEachObject) {
  CreateConfig("a", 1);
  h_.Pass(2s);
  // The pods start, and run.
  for (std::string_view name : {api::kShardControllerName, api::kShardWebhookName}) {
    h_.RollOut("shop", name, /*runs=*/false);
    h_.Pass(3s);
  }
  h_.RollOutShard("shop");
  ASSERT_TRUE(h_.Await([&] { return IsAvailable("a"); }));
  h_.Pass(60s);
  EXPECT_THAT(
      Requests(),
      ElementsAre(Pair("create events", 1),   // ShardAvailable
                  Pair("create leases", 1),   // the announcement
                  Pair("create secrets", 2),  // the authority, the webhook's certificate
                  // Read live by the validating webhook (webhooks/config_webhooks.h).
                  Pair("get clusterpodplacementconfigs", 1),
                  Pair("list podplacementconfigs", 1),  //
                  Pair("patch configmaps", 1),          //
                  Pair("patch deployments", 2),         //
                  Pair("patch mutatingwebhookconfigurations", 1), Pair("patch networkpolicies", 2),
                  // Progressing, then Available; one more if one program runs earlier.
                  Pair("patch podplacementconfigs/status", 2), Pair("patch rolebindings", 1),  //
                  Pair("patch roles", 1),                                                      //
                  Pair("patch serviceaccounts", 2),                                            //
                  Pair("patch services", 1)));
}

TEST_F(NewNamespaceTest, AFurtherConfigCostsItsAnnouncementAndItsStatus) {
  CreateConfig("a", 1);
  h_.Pass(2s);
  h_.RollOutShard("shop");
  ASSERT_TRUE(h_.Await([&] { return IsAvailable("a"); }));
  h_.Pass(60s);
  Requests();
  CreateConfig("b", 2);
  ASSERT_TRUE(h_.Await([&] { return IsAvailable("b"); }));
  h_.Pass(60s);
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", 1),                   //
                                      Pair("get clusterpodplacementconfigs", 1),  //
                                      Pair("get leases", 1),                      //
                                      Pair("list podplacementconfigs", 1),        //
                                      Pair("patch leases", 1),                    //
                                      Pair("patch podplacementconfigs/status", 1)));
}

// For a shard that does not start, the operator reads why its pods do not run, and the certificate.
TEST_F(NewNamespaceTest, AShardThatDoesNotStartIsLookedAtSeldom) {
  CreateConfig("a", 1);
  h_.Pass(9s);
  Requests();
  h_.Pass(60s);
  EXPECT_THAT(Requests(), ElementsAre(Pair("get secrets", 12), Pair("list pods", 6)));
}

}  // namespace
}  // namespace operator_
