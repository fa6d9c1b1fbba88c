// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/deploy/hub_kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "kube/client/kubeconfig.h"
#include "kube/testing/matchers.h"

namespace fleet {
namespace {

using kube::Code;
using testing::HasSubstr;

kube::ClientConfig Administrator() {
  kube::ClientConfig config;
  config.server = "https://hub.example.com:6443";
  config.tls.ca_pem = "-----BEGIN CERTIFICATE-----\n";
  config.tls.cert_pem = "administrator-certificate";
  config.tls.key_pem = "administrator-key";
  config.token = "administrator-token";
  config.password = "administrator-password";
  return config;
}

TEST(AgentKubeconfigTest, IsReadByTheAgent) {
  kube::Result<std::string> text = AgentKubeconfig(Administrator(), "");
  ASSERT_THAT(text, kube::IsOk());
  const std::string folder = std::getenv("TEST_TMPDIR");
  std::ofstream(folder + "/kubeconfig") << *text;
  kube::Result<kube::ClientConfig> read = kube::LoadKubeconfig(folder + "/kubeconfig");
  ASSERT_THAT(read, kube::IsOk());
  EXPECT_EQ(read->server, "https://hub.example.com:6443");
  EXPECT_EQ(read->tls.ca_pem, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(read->token_file, folder + "/token");
}

TEST(AgentKubeconfigTest, HasNoCredentialsOfTheAdministrator) {
  kube::Result<std::string> text = AgentKubeconfig(Administrator(), "");
  ASSERT_THAT(text, kube::IsOk());
  EXPECT_THAT(*text, testing::Not(HasSubstr("administrator")));
  EXPECT_THAT(*text, testing::Not(HasSubstr("YWRtaW5pc3RyYXRvc")));  // in base64
}

TEST(AgentKubeconfigTest, AnAddressOfThisMachineIsRefused) {
  kube::ClientConfig config = Administrator();
  for (const char* server :
       {"https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"}) {
    config.server = server;
    EXPECT_THAT(AgentKubeconfig(config, ""),
                kube::FailsWith(Code::kInvalid, HasSubstr("--hub-server")));
  }
  EXPECT_THAT(AgentKubeconfig(config, "https://10.0.0.1:6443"), kube::IsOk());
}

TEST(AgentKubeconfigTest, TheAgentMustVerifyTheHub) {
  kube::ClientConfig config = Administrator();
  config.tls.insecure = true;
  EXPECT_THAT(AgentKubeconfig(config, ""), kube::FailsWith(Code::kInvalid, HasSubstr("verify")));
  EXPECT_THAT(AgentKubeconfig(Administrator(), "http://hub.example.com"),
              kube::FailsWith(Code::kInvalid));
  EXPECT_THAT(AgentKubeconfig(Administrator(), "https://user:secret@hub.example.com"),
              kube::FailsWith(Code::kInvalid, testing::Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace fleet
