// SPDX-License-Identifier: Apache-2.0
// The cluster controller's program as the webhook, with an API server and a registry that accepts
// connections and says nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "api/names.h"
#include "ephemeral-containers/names.h"
#include "ephemeral-containers/webhook/testing/path_secret.h"
#include "ephemeral-containers/webhook/testing/reviews.h"
#include "kube/base/clock.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/http_api_server.h"
#include "kube/testing/run.h"
#include "kube/testing/subprocess.h"
#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"
#include "webhook/testing/webhook_process.h"

namespace ephemeral {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr char kController[] = "cluster-controller/cluster-controller";
const std::string kToken(64, 'a');

class ServeTest : public webhook::WebhookProcessTest {
 protected:
  ServeTest() : api_(certificates_.string()) {
    kube::core::Node node;
    node.mutable_metadata()->set_name("worker-3");
    auto& labels = *node.mutable_metadata()->mutable_labels();
    labels[std::string(api::kOsLabel)] = "linux";
    labels[std::string(api::kArchLabel)] = "arm64";
    api_.With([&](kube::FakeApiServer& api) { return api.Create(node); });
    api_.With([&](kube::FakeApiServer& api) { return api.Create(PathSecret(kToken)); });
  }

  std::vector<std::string> WarningFlags() {
    return Flags(
        {"--ephemeral-container-warnings", "--namespace=ops", "--kubeconfig=" + api_.kubeconfig()});
  }
  // Asks until `done`; false after a minute.
  static bool Await(const std::function<bool()>& done) {
    kube::TimePoint end = kube::RealClock().Now() + 1min;
    while (kube::RealClock().Now() < end) {
      if (done()) return true;
    }
    return false;
  }
  std::vector<std::string> Calls() {
    return api_.With([](kube::FakeApiServer& api) { return api.calls(); });
  }

  kube::HttpApiServer api_;
  tcp::acceptor registry_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  const std::string image_ =
      "127.0.0.1:" + std::to_string(registry_.local_endpoint().port()) + "/app:1";
};

TEST_F(ServeTest, AnswersReviewsInFlightBeforeItEnds) {
  kube::Subprocess process(kController, WarningFlags());
  uint16_t port = PortAfter(process, "ephemeral containers, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  ASSERT_TRUE(Await([&] { return ops.Request("GET", "/readyz").status == 200; }));

  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.ConnectTcp()) << process.output();
  kube::TestReply reply;
  bool answered = false;
  kube::Json review = ReviewOf({EphemeralContainer("debugger", image_)});
  client.StartRequest("POST", PathOf(kToken), kube::DumpJson(review),
                      [&](const kube::TestReply& got) {
                        reply = got;
                        answered = true;
                      });
  // It waits for the registry.
  tcp::socket connection(context_);
  bool asked = false;
  registry_.async_accept(connection, [&](boost::system::error_code) { asked = true; });
  ASSERT_TRUE(kube::RunUntil(context_, [&] { return asked; })) << process.output();
  EXPECT_FALSE(answered);

  process.Signal(SIGTERM);
  ASSERT_TRUE(kube::RunUntil(context_, [&] { return answered; }));
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"allowed\":true"));
  EXPECT_EQ(process.Wait(), 0) << process.output();
}

// As the program that places pods does with the same configuration.
TEST_F(ServeTest, TakesNoLeaseAndWritesNothing) {
  kube::Subprocess process(kController, WarningFlags());
  ASSERT_NE(PortAfter(process, "ephemeral containers, on port "), 0) << process.output();
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  ASSERT_TRUE(Await([&] { return ops.Request("GET", "/readyz").status == 200; }));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.output();
  const std::vector<std::string> calls = Calls();
  EXPECT_THAT(calls, Contains(HasSubstr("clusterpodplacementconfigs")));
  for (const char* part : {"leases", "pods", "POST ", "PUT ", "PATCH ", "DELETE "})
    EXPECT_THAT(calls, Not(Contains(HasSubstr(part)))) << part;
  // But for its own.
  auto of_others = AllOf(HasSubstr("secrets"), Not(HasSubstr(std::string(kWebhookName))));
  EXPECT_THAT(calls, Not(Contains(of_others)));
}

// What the cluster controller reads of the API server before it is ready decides where images are
// looked for.
TEST_F(ServeTest, IsNotReadyWithoutItsConfiguration) {
  api_.With([](kube::FakeApiServer& api) {
    api.FailNext(kube::Error::Unavailable("503"), "configmaps", 1'000'000);
    return 0;
  });
  kube::Subprocess process(kController, WarningFlags());
  ASSERT_NE(PortAfter(process, "ephemeral containers, on port "), 0) << process.output();
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  ASSERT_TRUE(Await([&] {
    for (const std::string& call : Calls())
      if (call.find("configmaps") != std::string::npos) return true;
    return false;
  }));
  EXPECT_THAT(ops.Request("GET", "/readyz").body, HasSubstr("configuration"));
  EXPECT_EQ(ops.Request("GET", "/readyz").status, 503);
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.output();
}

}  // namespace
}  // namespace ephemeral
