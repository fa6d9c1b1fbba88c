// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/containerd_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "inspection/testing/mutate.h"
#include "inspection/testing/test_folder.h"
#include "kube/testing/matchers.h"

namespace inspection {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ContainerdHostsTest : public TestFolder {
 protected:
  // "scheme://host/path/repository?ns", with "!" after an insecure one.
  std::vector<std::string> Places(const std::string& registry, bool by_digest = false) {
    auto hosts = ContainerdHosts::Read(root_);
    if (!hosts) return {hosts.error().ToString()};
    auto sources = hosts->Expand({.registry = registry, .repository = "team/app"}, by_digest);
    if (!sources) return {sources.error().ToString()};
    std::vector<std::string> places;
    for (const PullSource& source : *sources) {
      const HostSettings& host = source.host;
      places.push_back(host.scheme + "://" + source.registry + host.path + "/" + source.repository +
                       (host.mirrored_registry.empty() ? "" : "?" + host.mirrored_registry) +
                       (source.insecure ? "!" : ""));
    }
    return places;
  }
};

TEST_F(ContainerdHostsTest, MirrorsInTheOrderOfTheFileThenTheRegistry) {
  Write("r.io/hosts.toml", R"(
[host."https://z.local"]
[host."http://a.local:5000/cache"]
  skip_verify = true
[host."https://m.local/registry/v2"]
  override_path = true
)");
  EXPECT_THAT(
      Places("r.io"),
      ElementsAre("https://z.local/v2/team/app?r.io", "http://a.local:5000/cache/v2/team/app?r.io!",
                  "https://m.local/registry/v2/team/app?r.io", "://r.io/v2/team/app"));
}

TEST_F(ContainerdHostsTest, AServerReplacesTheRegistry) {
  Write("docker.io/hosts.toml", "server = \"https://hub.local\"\n");
  EXPECT_THAT(Places("docker.io"), ElementsAre("https://hub.local/v2/team/app?docker.io"));
  Write("docker.io/hosts.toml", "server = \"https://registry-1.docker.io\"\n");
  EXPECT_THAT(Places("docker.io"), ElementsAre("https://registry-1.docker.io/v2/team/app"));
}

TEST_F(ContainerdHostsTest, CapabilitiesSelectTheHosts) {
  Write("r.io/hosts.toml", R"(
server = "https://r.io"
[host."https://pull.local"]
  capabilities = ["pull"]
[host."https://push.local"]
  capabilities = ["push"]
)");
  EXPECT_THAT(Places("r.io"), ElementsAre("https://r.io/v2/team/app"));
  EXPECT_THAT(Places("r.io", /*by_digest=*/true),
              ElementsAre("https://pull.local/v2/team/app?r.io", "https://r.io/v2/team/app"));
}

TEST_F(ContainerdHostsTest, WithoutAnAllowedHostItIsAnError) {
  Write("r.io/hosts.toml", "server = \"https://r.io\"\ncapabilities = []\n");
  EXPECT_THAT(Places("r.io"), ElementsAre(HasSubstr("hosts.toml of r.io allows no host")));
}

TEST_F(ContainerdHostsTest, FoldersForPortsAndTheDefault) {
  Write("r.io_5000_/hosts.toml", "[host.\"https://port.local\"]\n");
  Write("r.io:6000/hosts.toml", "[host.\"https://colon.local\"]\n");
  Write("_default/hosts.toml", "[host.\"https://any.local\"]\n");
  EXPECT_EQ(Places("r.io:5000").front(), "https://port.local/v2/team/app?r.io:5000");
  EXPECT_EQ(Places("r.io:6000").front(), "https://colon.local/v2/team/app?r.io:6000");
  EXPECT_EQ(Places("other.io").front(), "https://any.local/v2/team/app?other.io");
}

TEST_F(ContainerdHostsTest, RelativeFilesAreNextToTheirToml) {
  Write("r.io/hosts.toml", R"(
[host."https://m.local"]
  ca = ["ca.crt", ")" + root_ + R"(/absolute.crt"]
  client = [["client.cert", "client.key"]]
  [host."https://m.local".header]
    x-team = "blue"
    x-many = ["1", "2"]
)");
  Write("r.io/ca.crt", "one");
  Write("absolute.crt", "two");
  Write("r.io/client.cert", "certificate");
  Write("r.io/client.key", "key");
  Write("docker-like.io/ca.crt", "three");
  auto hosts = ContainerdHosts::Read(root_);
  ASSERT_THAT(hosts, IsOk());
  HostTls mirror = hosts->certificates().at("m.local");
  EXPECT_THAT(mirror.problem, IsEmpty());
  EXPECT_EQ(mirror.ca_pem, "one\ntwo\n");
  EXPECT_EQ(mirror.cert_pem, "certificate");
  EXPECT_EQ(mirror.key_pem, "key");
  EXPECT_EQ(hosts->certificates().at("docker-like.io").ca_pem, "three\n");
  auto sources = hosts->Expand({.registry = "r.io", .repository = "app"}, false);
  ASSERT_THAT(sources, IsOk());
  EXPECT_EQ(sources->front().host.headers.size(), 3u);
}

// A file system lists the folders in any order.
TEST_F(ContainerdHostsTest, TheFirstFolderByNameDecidesAboutTheCertificateOfAHost) {
  std::vector<int> order(20);
  std::iota(order.begin(), order.end(), 10);
  for (const char* tree : {"up", "down"}) {
    for (int i : order) {
      std::string name = std::to_string(i), folder = std::string(tree) + "/r" + name + ".io/";
      Write(folder + "hosts.toml", R"([host."https://m.local"]
ca = "ca.crt"
client = [["client.cert", "client.key"]]
)");
      Write(folder + "ca.crt", name);
      Write(folder + "client.cert", name);
      Write(folder + "client.key", name);
    }
    std::reverse(order.begin(), order.end());
    // More special than the default, which is before it by name.
    for (const char* file : {"hosts.toml", "ca.crt", "client.cert", "client.key"}) {
      fs::create_directories(root_ + "/" + tree + "/_default");
      fs::copy(root_ + "/" + tree + "/r29.io/" + file, root_ + "/" + tree + "/_default/" + file);
    }
    auto hosts = ContainerdHosts::Read(root_ + "/" + tree);
    ASSERT_THAT(hosts, IsOk());
    HostTls mirror = hosts->certificates().at("m.local");
    EXPECT_EQ(mirror.cert_pem, "10") << tree;
    EXPECT_EQ(mirror.key_pem, "10") << tree;
    EXPECT_THAT(mirror.ca_pem, ::testing::StartsWith("10\n11\n12\n")) << tree;
    EXPECT_THAT(mirror.ca_pem, ::testing::EndsWith("28\n29\n29\n")) << tree;
  }
}

// As in containerd.
TEST_F(ContainerdHostsTest, OfTwoFoldersForAPortTheOneWithUnderscoresCounts) {
  for (int i = 10; i < 30; ++i) {
    std::string port = std::to_string(i);
    Write("r.io:" + port + "/ca.crt", "colon");
    Write("r.io_" + port + "_/ca.crt", "underscores");
    Write("toml.io_" + port + "_/hosts.toml", "[host.\"https://underscores.local\"]\n");
    Write("toml.io:" + port + "/hosts.toml", "[host.\"https://colon.local\"]\nca = \"ca.crt\"\n");
    Write("toml.io:" + port + "/ca.crt", "colon");
  }
  auto hosts = ContainerdHosts::Read(root_);
  ASSERT_THAT(hosts, IsOk());
  for (int i = 10; i < 30; ++i) {
    std::string port = std::to_string(i);
    EXPECT_EQ(hosts->certificates().at("r.io:" + port).ca_pem, "underscores\n");
    EXPECT_EQ(Places("toml.io:" + port).front(),
              "https://underscores.local/v2/team/app?toml.io:" + port);
  }
  EXPECT_FALSE(hosts->certificates().contains("colon.local"));
}

TEST_F(ContainerdHostsTest, AnInvalidFolderIsAnErrorForItsRegistryOnly) {
  Write("bad.io/hosts.toml", "[host.\n");
  Write("typed.io/hosts.toml", "[host.\"https://m.local\"]\nskip_verify = \"yes\"\n");
  Write("good.io/hosts.toml", "[host.\"https://m.local\"]\n");
  EXPECT_THAT(Places("bad.io"), ElementsAre(HasSubstr("bad.io/hosts.toml line ")));
  EXPECT_THAT(Places("typed.io"), ElementsAre(HasSubstr("line 2: skip_verify: not true or false")));
  EXPECT_EQ(Places("good.io").size(), 2u);
  EXPECT_EQ(Places("other.io").size(), 1u);
  Write("file", "");
  EXPECT_THAT(ContainerdHosts::Read(root_ + "/file"), FailsWith(Code::kInvalid));
  EXPECT_THAT(ContainerdHosts::Read(root_ + "/absent"), IsOk());
}

TEST(HostsTomlTest, AnInvalidHeaderIsRefusedWithoutQuotingItsValue) {
  auto parsed =
      ParseHostsToml("[host.\"https://m.local\".header]\nx = \"secret\\r\\nHost: other\"\n");
  EXPECT_THAT(parsed, FailsWith(Code::kInvalid, ::testing::Not(HasSubstr("secret"))));
}

TEST(HostsTomlTest, HeadersAreStricterThanTheProtocol) {
  auto of = [](const std::string& line) {
    return ParseHostsToml("[host.\"https://m.local\".header]\n" + line + "\n");
  };
  EXPECT_THAT(of("x-Team_1 = \"blue and \u00e9\""), IsOk());
  for (const char* refused :
       {"\"x.y\" = \"1\"", "\"x~\" = \"1\"", "\"\" = \"1\"", "x = \"a\\tb\"", "x = \"a\\u007f\""}) {
    EXPECT_THAT(of(refused), FailsWith(Code::kInvalid)) << refused;
  }
}

TEST(HostsTomlTest, DamagedFilesAreErrorsOrHaveValidHosts) {
  ForMutations({"server = \"https://r.io\"\n[host.\"https://m.local:5000/x\"]\ncapabilities = "
                "[\"pull\", \"resolve\"]\n"
                "client = [[\"a\", \"b\"]]\nskip_verify = "
                "true\n[host.\"https://m.local:5000/x\".header]\nx = [\"1\"]\n"},
               3000, [](const std::string& text) {
                 auto hosts = ParseHostsToml(text);
                 if (!hosts) return;
                 for (const ContainerdHost& host : *hosts)
                   EXPECT_FALSE(host.registry.empty()) << text;
               });
}

}  // namespace
}  // namespace inspection
