// SPDX-License-Identifier: Apache-2.0
#include "kube/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kube/testing/matchers.h"

namespace kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class KubeconfigTest : public testing::Test {
 protected:
  KubeconfigTest() : folder_(std::filesystem::path(testing::TempDir()) / "kubeconfig_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (const char* name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"})
      ::unsetenv(name);
    ::setenv("HOME", folder_.c_str(), 1);
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // A kubeconfig with one cluster, one user and one context; `cluster` and `user` are their fields.
  std::string WriteOne(const std::string& cluster, const std::string& user) {
    return Write("config",
                 "apiVersion: v1\nkind: Config\ncurrent-context: t\n"
                 "contexts:\n- name: t\n  context: {cluster: c, user: u, namespace: web}\n"
                 "clusters:\n- name: c\n  cluster: {" +
                     cluster +
                     "}\n"
                     "users:\n- name: u\n  user: {" +
                     user + "}\n");
  }

  std::filesystem::path folder_;
};

TEST_F(KubeconfigTest, ReadsInlineData) {
  Result<ClientConfig> config =
      LoadKubeconfig(WriteOne("server: 'https://h:6443', certificate-authority-data: Y2E=, "
                              "tls-server-name: n, proxy-url: 'http://p:1'",
                              "client-certificate-data: Y2VydA==, client-key-data: a2V5, token: "
                              "secret, username: me, password: pw"));
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->server, "https://h:6443");
  EXPECT_EQ(config->tls.ca_pem, "ca");
  EXPECT_EQ(config->tls.server_name, "n");
  EXPECT_EQ(config->tls.cert_pem, "cert");
  EXPECT_EQ(config->tls.key_pem, "key");
  EXPECT_EQ(config->proxy_url, "http://p:1");
  EXPECT_EQ(config->token, "secret");
  EXPECT_EQ(config->username, "me");
  EXPECT_EQ(config->password, "pw");
  EXPECT_EQ(config->ns, "web");
  EXPECT_FALSE(config->exec);
}

TEST_F(KubeconfigTest, PathsAreRelativeToTheFile) {
  Result<ClientConfig> config = LoadKubeconfig(
      WriteOne("server: 'https://h', certificate-authority: pki/ca.crt",
               "client-certificate: ../c.crt, client-key: /abs/c.key, tokenFile: token"));
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->ca_file, folder_ / "pki/ca.crt");
  EXPECT_EQ(config->cert_file, folder_ / "../c.crt");
  EXPECT_EQ(config->key_file, "/abs/c.key");
  EXPECT_EQ(config->token_file, folder_ / "token");
}

TEST_F(KubeconfigTest, InlineDataOverridesFiles) {
  Result<ClientConfig> config = LoadKubeconfig(WriteOne(
      "server: 'https://h', certificate-authority: x, certificate-authority-data: Y2E=", ""));
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->tls.ca_pem, "ca");
  EXPECT_EQ(config->ca_file, "");
}

TEST_F(KubeconfigTest, ReadsExecPlugins) {
  Result<ClientConfig> config = LoadKubeconfig(WriteOne(
      "server: 'https://h'",
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [get, '1'], "
      "interactiveMode: Never, "
      "env: [{name: A, value: b}], provideClusterInfo: true, installHint: install it}"));
  ASSERT_THAT(config, IsOk());
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->command, folder_ / "./bin/login");
  EXPECT_EQ(config->exec->args, (std::vector<std::string>{"get", "1"}));
  EXPECT_EQ(config->exec->env[0].first + "=" + config->exec->env[0].second, "A=b");
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->install_hint, "install it");
}

TEST_F(KubeconfigTest, ACommandWithoutSlashIsNotMadeAbsolute) {
  Result<ClientConfig> config = LoadKubeconfig(
      WriteOne("server: 'https://h'",
               "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: login}"));
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->exec->command, "login");
}

TEST_F(KubeconfigTest, ErrorsNameFileAndField) {
  struct Row {
    std::string cluster, user, field;
  };
  const Row kRows[] = {
      {"", "", "clusters[c].cluster.server is missing"},
      {"server: 5", "", "clusters[c].cluster.server is not a string"},
      {"server: 'https://h', certificate-authority-data: '%%'", "",
       "clusters[c].cluster.certificate-authority-data is not base64"},
      {"server: 'https://h', insecure-skip-tls-verify: maybe", "",
       "insecure-skip-tls-verify is neither true nor false"},
      {"server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: x", "",
       "together with a certificate authority"},
      {"server: 'https://h'", "token: [secret]", "users[u].user.token is not a string"},
      {"server: 'https://h'", "auth-provider: {name: gcp}",
       "users[u].user.auth-provider is not supported"},
      {"server: 'https://h'", "as: admin", "users[u].user.as is not supported"},
      {"server: 'https://h'", "exec: {command: x}", "users[u].user.exec.apiVersion is neither"},
      {"server: 'https://h'", "exec: {apiVersion: client.authentication.k8s.io/v1}",
       "users[u].user.exec.command is missing"},
      {"server: 'https://h'",
       "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [1]}",
       "exec.args has an entry that is not a string"},
      {"server: 'https://h'",
       "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}",
       "exec.interactiveMode is Always"},
      {"server: 'https://h'", "exec: text", "users[u].user.exec is not a map"},
  };
  for (const Row& row : kRows) {
    std::string path = WriteOne(row.cluster, row.user);
    Result<ClientConfig> config = LoadKubeconfig(path);
    EXPECT_THAT(config, FailsWith(Code::kInvalid, AllOf(HasSubstr(path), HasSubstr(row.field))))
        << row.field;
    EXPECT_THAT(config.error().message(), testing::Not(HasSubstr("secret")));
  }
}

TEST_F(KubeconfigTest, DanglingReferencesAreNamed) {
  std::string path = Write(
      "config", "current-context: t\ncontexts:\n- name: t\n  context: {cluster: gone, user: u}\n");
  EXPECT_THAT(LoadKubeconfig(path),
              FailsWith(Code::kInvalid, HasSubstr("no cluster named \"gone\"")));
  EXPECT_THAT(LoadKubeconfig(path, "other"),
              FailsWith(Code::kInvalid, HasSubstr("no context named \"other\"")));
  EXPECT_THAT(LoadKubeconfig(Write("empty", "")),
              FailsWith(Code::kInvalid, HasSubstr("current-context is missing")));
  EXPECT_THAT(LoadKubeconfig(Write("list", "[1, 2]")),
              FailsWith(Code::kInvalid, HasSubstr("the document is not a map")));
  EXPECT_THAT(LoadKubeconfig(Write("bad", "a: [")), FailsWith(Code::kInvalid, HasSubstr("YAML")));
  EXPECT_THAT(LoadKubeconfig(folder_ / "none"), FailsWith(Code::kNotFound, HasSubstr("none")));
}

TEST_F(KubeconfigTest, FilesAreMergedAndTheFirstWins) {
  std::string first = Write("a/one",
                            "current-context: t\nclusters:\n- name: c\n  cluster: {server: "
                            "'https://first', certificate-authority: ca}\n");
  std::string second =
      Write("b/two",
            "current-context: x\nclusters:\n- name: c\n  cluster: {server: 'https://second'}\n"
            "contexts:\n- name: t\n  context: {cluster: c, user: u}\nusers:\n- name: u\n  user: "
            "{tokenFile: tok}\n");
  Result<ClientConfig> config =
      LoadKubeconfig(first + ":" + (folder_ / "none").string() + "::" + second);
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->server, "https://first");
  EXPECT_EQ(config->ca_file, folder_ / "a/ca");
  EXPECT_EQ(config->token_file, folder_ / "b/tok");
}

TEST_F(KubeconfigTest, LooksUpFlagThenVariableThenClusterThenHome) {
  EXPECT_THAT(LoadClientConfig(""), FailsWith(Code::kNotFound, HasSubstr(".kube/config")));
  std::string context =
      "current-context: t\ncontexts:\n- name: t\n  context: {cluster: c}\nclusters:\n- name: c\n  "
      "cluster: {server: ";
  Write(".kube/config", context + "home}\n");
  EXPECT_EQ(LoadClientConfig("")->server, "home");
  ::setenv("KUBECONFIG", Write("variable", context + "variable}\n").c_str(), 1);
  EXPECT_EQ(LoadClientConfig("")->server, "variable");
  EXPECT_EQ(LoadClientConfig(Write("flag", context + "flag}\n"))->server, "flag");
}

TEST_F(KubeconfigTest, InsideAClusterTheServiceAccountIsUsed) {
  EXPECT_THAT(InClusterConfig(folder_),
              FailsWith(Code::kNotFound, HasSubstr("KUBERNETES_SERVICE_HOST")));
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  EXPECT_THAT(InClusterConfig(folder_),
              FailsWith(Code::kNotFound, HasSubstr("service account token")));
  Write("token", "t");
  Write("namespace", "mine");
  Result<ClientConfig> config = InClusterConfig(folder_);
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->token_file, folder_ / "token");
  EXPECT_EQ(config->ca_file, folder_ / "ca.crt");
  EXPECT_EQ(config->ns, "mine");
}

}  // namespace
}  // namespace kube
