// SPDX-License-Identifier: Apache-2.0
// The webhook as a process: flags, certificates, answers over TLS, and the drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "kube/server/testing/test_client.h"
#include "kube/testing/subprocess.h"
#include "webhook/golden.h"
#include "webhook/testing/webhook_process.h"

namespace webhook {
namespace {

using ::testing::HasSubstr;

TEST_F(WebhookProcessTest, InvalidFlagsAreNamed) {
  ExpectFailure({"--gates=local"}, 2, "unknown command line flag 'gates'");
  ExpectFailure({"--gate=both"}, 1, "--gate: \"both\" is neither cluster nor local");
  ExpectFailure({"--gate=local"}, 1, "--namespace is required with --gate=local");
  ExpectFailure({"--gate=cluster", "--namespace=web"}, 1, "--namespace is for --gate=local");
  ExpectFailure({"--address=nowhere"}, 1, "not an address to listen on");
  ExpectFailure({"--drain-delay=soon"}, 2, "drain_delay");
  ExpectFailure({"local"}, 2, "unexpected argument 'local'");
}

TEST_F(WebhookProcessTest, MissingCertificateIsNamed) {
  std::filesystem::remove(certificates_ / "tls.key");
  ExpectFailure({}, 1, (certificates_ / "tls.key").string() + ": No such file or directory");
}

TEST_F(WebhookProcessTest, GatesPodsReportsHealthAndDrains) {
  kube::Subprocess process(kProgram, Flags({"--gate=cluster"}));
  uint16_t port = PortAfter(process, "gate, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  std::string pod =
      ReadTestFile(std::filesystem::path(kTestdata) / "cluster_plain_pod_is_gated.input.json");
  kube::TestReply reply = client.Request("POST", "/add-pod-scheduling-gate", pod);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"patch\":\""));
  EXPECT_EQ(client.Request("POST", "/local/prefs", pod).status, 404);

  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  EXPECT_EQ(ops.Request("GET", "/readyz").status, 200);
  EXPECT_THAT(ops.Request("GET", "/metrics").body, HasSubstr("mto_ppo_wh_pods_gated_total 1\n"));

  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.output();
}

// The API server creates a pod whose review was refused without a gate (failurePolicy: Ignore).
TEST_F(WebhookProcessTest, CountsRefusedRequestsByStatus) {
  kube::Subprocess process(kProgram, Flags({"--gate=local", "--namespace=web"}));
  uint16_t port = PortAfter(process, "gate, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  std::string text = ops.Request("GET", "/metrics").body;
  for (const char* code : {"400", "404", "405", "408", "413", "431", "500"}) {
    EXPECT_THAT(text, HasSubstr("mto_ppo_wh_refused_requests_total{code=\"" + std::string(code) +
                                "\"} 0\n"));
  }

  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  EXPECT_EQ(client.Request("POST", "/local/prefs", "{").status, 400);
  EXPECT_EQ(client.Request("POST", "/local/", "{}").status, 404);
  EXPECT_EQ(client.Request("POST", "/nowhere", "{}").status, 404);
  EXPECT_EQ(client.Request("POST", "/local/prefs", std::string(4 << 20, 'x')).status, 413);
  text = ops.Request("GET", "/metrics").body;
  for (const char* series : {"400\"} 1", "404\"} 2", "413\"} 1", "500\"} 0"}) {
    EXPECT_THAT(
        text, HasSubstr("mto_ppo_wh_refused_requests_total{code=\"" + std::string(series) + "\n"));
  }
}

// The operator finds out by this whether calls of the API server arrive.
TEST_F(WebhookProcessTest, AnswersTheProbeOfTheOperator) {
  constexpr char kProbe[] = R"({
    "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
    "request": {"uid": "u", "operation": "CREATE", "namespace": "ops", "dryRun": true,
                "object": {"metadata": {
                  "labels": {"multiarch.openshift.io/webhook-probe": "web"}}}}})";
  for (const char* gate : {"--gate=cluster", "--gate=local"}) {
    std::vector<std::string> flags = {gate, "--operator-namespace=ops"};
    if (std::string(gate) == "--gate=local") flags.emplace_back("--namespace=web");
    kube::Subprocess process(kProgram, Flags(flags));
    uint16_t port = PortAfter(process, "gate, on port ");
    ASSERT_NE(port, 0) << process.output();
    kube::TestClient client(context_, port, ca_.certificate_pem);
    ASSERT_TRUE(client.Connect()) << process.output();
    kube::TestReply reply = client.Request("POST", "/probe", kProbe);
    EXPECT_EQ(reply.status, 200);
    EXPECT_THAT(reply.body, HasSubstr("\"patch\":\"")) << gate;
  }
}

TEST_F(WebhookProcessTest, TheLocalWebhookServesItsOwnPath) {
  kube::Subprocess process(kProgram, Flags({"--gate=local", "--namespace=web"}));
  uint16_t port = PortAfter(process, "gate, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  std::string pod =
      ReadTestFile(std::filesystem::path(kTestdata) / "local_plain_pod_is_gated.input.json");
  EXPECT_THAT(client.Request("POST", "/local/prefs", pod).body, HasSubstr("\"patch\":\""));
  EXPECT_EQ(client.Request("POST", "/add-pod-scheduling-gate", pod).status, 404);
}

}  // namespace
}  // namespace webhook
