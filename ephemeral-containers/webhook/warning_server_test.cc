// SPDX-License-Identifier: Apache-2.0
// WarningWebhook behind its server: which requests reach it.
#include <gtest/gtest.h>

#include <string>

#include "cluster-controller/inspection_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pull_secrets.h"
#include "ephemeral-containers/names.h"
#include "ephemeral-containers/webhook/path_watch.h"
#include "ephemeral-containers/webhook/testing/path_secret.h"
#include "ephemeral-containers/webhook/testing/reviews.h"
#include "ephemeral-containers/webhook/warning_webhook.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace ephemeral {
namespace {

using namespace std::chrono_literals;

const std::string kOne(64, '1');
const std::string kTwo(64, '2');

class WarningServerTest : public kube::ServerFixture {
 protected:
  WarningServerTest() { api_.Create(PathSecret(kOne)); }
  ~WarningServerTest() override {
    EXPECT_THAT(kube::Run(context_, watches_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }
  void AddHandlers() override {
    webhook_.AddTo(*server_, path_);
    path_.Start(watches_);
    ASSERT_TRUE(kube::RunUntil(context_, [this] { return path_.known(); }));
  }

  // Of the answer to a review.
  int StatusOf(const std::string& path) {
    kube::TestClient client = Client();
    EXPECT_TRUE(client.Connect());
    return client.Request("POST", path, kube::DumpJson(ReviewOf({}))).status;
  }

  kube::FakeApiServer api_;
  kube::Metrics metrics_;
  inspection::FakeInspector images_;
  cluster_controller::InspectionMetrics inspection_metrics_{metrics_};
  cluster_controller::InspectionQueue queue_{images_, kube::RealClock(), tasks_,
                                             inspection_metrics_};
  cluster_controller::PullSecrets secrets_{api_, kube::RealClock()};
  cluster_controller::PodInspector inspector_{queue_, secrets_, inspection_metrics_,
                                              kube::RealClock()};
  PathWatch path_{api_, kube::RealClock(), "ops"};
  kube::TaskGroup watches_{context_.get_executor()};
  WarningWebhook webhook_{queue_, inspector_, context_.get_executor(), api_, kube::RealClock(),
                          tasks_, metrics_};
};

TEST_F(WarningServerTest, OnlyTheSecretPathIsServed) {
  Start();
  EXPECT_EQ(StatusOf(PathOf(kOne)), 200);
  EXPECT_EQ(StatusOf(PathOf(kOne) + "?timeout=5s"), 200);
  const std::string base(kWarningsPath);
  for (const std::string& path : {std::string("/"), base, base + "/", PathOf(kTwo)})
    EXPECT_EQ(StatusOf(path), 404) << path;
}

// A new certificate changes nothing.
TEST_F(WarningServerTest, ANewTokenHasANewPathAndThePreviousOneIsRefusedAtOnce) {
  options_.refresh_interval = 1ms;
  Start();
  const std::string before = server_->certificate_pem();
  WritePair(NewPair(ca_));
  ASSERT_TRUE(kube::RunUntil(context_, [&] { return server_->certificate_pem() != before; }));
  EXPECT_EQ(StatusOf(PathOf(kOne)), 200);
  api_.Update(PathSecret(kTwo));
  EXPECT_EQ(StatusOf(PathOf(kTwo)), 200);
  EXPECT_EQ(StatusOf(PathOf(kOne)), 404);
}

}  // namespace
}  // namespace ephemeral
