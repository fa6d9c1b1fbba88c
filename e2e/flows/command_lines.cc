// SPDX-License-Identifier: Apache-2.0
// Wrong flags and kubeconfigs: each program names the error and exits with a code other than 0.
// Needs no cluster.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "e2e/cluster_harness/child_process.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

std::string TemporaryFile(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
  std::ofstream(path) << text;
  return path;
}

class CommandLineTest : public testing::TestWithParam<const char*> {
 protected:
  // Runs the program with its required arguments, on free ports, and `args`.
  Finished Run(std::vector<std::string> args, std::map<std::string, std::string> environment = {}) {
    std::string name = GetParam();
    std::vector<std::string> all = {"--health-address=127.0.0.1:0"};
    if (name == "webhook")
      all.insert(all.end(), {"--gate=local", "--namespace=ns", "--address=127.0.0.1:0"});
    if (name == "operator")
      all.insert(all.end(), {"--webhook-image=w", "--shard-image=s", "--controller-image=c"});
    if (name == "shard") all.push_back("--namespace=ns");
    all.insert(all.end(), args.begin(), args.end());
    auto finished =
        RunToEnd({.path = name + "/" + name, .args = all, .env = std::move(environment)}, 30s);
    EXPECT_TRUE(finished) << finished.error();
    return finished ? *finished : Finished{};
  }

  // The webhook makes no calls and has no --kubeconfig.
  bool CallsTheApiServer() const { return std::string(GetParam()) != "webhook"; }
};

TEST_P(CommandLineTest, AnUnknownFlagIsNamed) {
  Finished finished = Run({"--no-such-flag=1"});
  EXPECT_EQ(finished.status, 2) << finished.output;
  EXPECT_NE(finished.output.find("no-such-flag"), std::string::npos) << finished.output;
}

TEST_P(CommandLineTest, AWrongValueIsNamed) {
  Finished finished = Run({"--log-verbosity=Loud"});
  EXPECT_EQ(finished.status, 2) << finished.output;
  EXPECT_NE(finished.output.find("Loud"), std::string::npos) << finished.output;
}

TEST_P(CommandLineTest, AnArgumentThatIsNoFlagIsNamed) {
  Finished finished = Run({"surplus"});
  EXPECT_EQ(finished.status, 2) << finished.output;
  EXPECT_NE(finished.output.find("surplus"), std::string::npos) << finished.output;
}

TEST_P(CommandLineTest, HelpAndVersionSucceed) {
  EXPECT_EQ(Run({"--version"}).status, 0);
  Finished help = Run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.output.find("health-address"), std::string::npos) << help.output;
}

TEST_P(CommandLineTest, AMissingKubeconfigIsNamed) {
  if (!CallsTheApiServer()) return;
  Finished finished = Run({"--kubeconfig=/nowhere/kubeconfig"});
  EXPECT_EQ(finished.status, 1) << finished.output;
  EXPECT_NE(finished.output.find("/nowhere/kubeconfig"), std::string::npos) << finished.output;
}

TEST_P(CommandLineTest, AKubeconfigThatDoesNotParseIsNamed) {
  if (!CallsTheApiServer()) return;
  std::string path = TemporaryFile("broken.kubeconfig", "{apiVersion: v1, kind: [");
  Finished finished = Run({"--kubeconfig=" + path});
  EXPECT_EQ(finished.status, 1) << finished.output;
  EXPECT_NE(finished.output.find("broken.kubeconfig"), std::string::npos) << finished.output;
}

TEST_P(CommandLineTest, OutsideOfAClusterAKubeconfigIsRequired) {
  if (!CallsTheApiServer()) return;
  Finished finished = Run({}, {{"HOME", "/nowhere"}});
  EXPECT_EQ(finished.status, 1) << finished.output;
  EXPECT_NE(finished.output.find("kubeconfig"), std::string::npos) << finished.output;
}

INSTANTIATE_TEST_SUITE_P(Programs, CommandLineTest,
                         testing::Values("operator", "webhook", "shard", "cluster-controller"),
                         [](const auto& info) {
                           std::string name = info.param;
                           return name.substr(0, name.find('-'));
                         });

}  // namespace
}  // namespace e2e
