// SPDX-License-Identifier: Apache-2.0
// WarningWebhook behind its server: which requests reach it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "cluster-controller/inspection_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pull_secrets.h"
#include "ephemeral-containers/names.h"
#include "ephemeral-containers/secret_path.h"
#include "ephemeral-containers/webhook/testing/reviews.h"
#include "ephemeral-containers/webhook/warning_webhook.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/fake_api_server.h"
#include "kube/types/unstructured.h"

namespace ephemeral {
namespace {

using namespace std::chrono_literals;

class WarningServerTest : public kube::ServerFixture {
 protected:
  WarningServerTest() { options_.refresh_interval = 1ms; }
  void AddHandlers() override { webhook_.AddTo(*server_); }

  // The path for the key in the server's file.
  std::string PathOfKey() {
    std::ifstream file(options_.key_file);
    return SecretPath(std::string(std::istreambuf_iterator<char>(file), {}));
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
  WarningWebhook webhook_{queue_, inspector_, context_.get_executor(), api_, kube::RealClock(),
                          tasks_, metrics_};
};

TEST_F(WarningServerTest, OnlyTheSecretPathIsServed) {
  Start();
  EXPECT_EQ(StatusOf(PathOfKey()), 200);
  EXPECT_EQ(StatusOf(PathOfKey() + "?timeout=5s"), 200);
  const std::string base(kWarningsPath);
  for (const std::string& path :
       {std::string("/"), base, base + "/", SecretPath(""), SecretPath(ca_.private_key_pem)})
    EXPECT_EQ(StatusOf(path), 404) << path;
}

TEST_F(WarningServerTest, ANewKeyHasANewPathAndThePreviousOneIsServedMeanwhile) {
  Start();
  const std::string previous = PathOfKey();
  WritePair(NewPair(ca_));
  const std::string next = PathOfKey();
  ASSERT_NE(next, previous);
  int status = 0;
  for (int i = 0; i < 1000 && status != 200; ++i) status = StatusOf(next);
  EXPECT_EQ(status, 200);
  EXPECT_EQ(StatusOf(previous), 200);
}

}  // namespace
}  // namespace ephemeral
