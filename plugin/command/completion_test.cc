// SPDX-License-Identifier: Apache-2.0
#include "plugin/command/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "plugin/command/formats.h"

namespace plugin {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    app_.add_option("-n,--namespace", text_);
    app_.add_option("--kubeconfig", text_);
    CLI::App* why = app_.add_subcommand("why");
    why->add_option("KIND", text_);
    why->add_flag("-v,--verbose");
    AddFormats(*why, {"json", "yaml"}, chosen_);
    app_.add_subcommand("inspect")->add_option("--as-pod", text_);
  }
  Completion Of(const std::vector<std::string>& words) { return Complete(app_, chosen_, words); }

  std::string text_;
  CLI::App app_;
  Chosen chosen_;
};

TEST_F(CompletionTest, CommandsAndFlags) {
  EXPECT_THAT(Of({""}).candidates, ElementsAre("why", "inspect"));
  EXPECT_THAT(Of({}).candidates, ElementsAre("why", "inspect"));
  EXPECT_THAT(Of({"w"}).candidates, ElementsAre("why"));
  EXPECT_THAT(Of({"-n", "shop", "i"}).candidates, ElementsAre("inspect"));
  EXPECT_THAT(Of({"why", "--"}).candidates, Contains("--verbose"));
  EXPECT_THAT(Of({"why", "--"}).candidates, Contains("--namespace"));
  EXPECT_THAT(Of({"inspect", "--"}).candidates, Not(Contains("--verbose")));
}

TEST_F(CompletionTest, KindsAndNames) {
  EXPECT_THAT(Of({"why", ""}).candidates, ElementsAre("pod", "deployment", "statefulset",
                                                      "replicaset", "daemonset", "job", "config"));
  EXPECT_THAT(Of({"why", "-v", "d"}).candidates, ElementsAre("deployment", "daemonset"));
  EXPECT_EQ(Of({"why", "pod", "we"}).objects, "pods");
  EXPECT_EQ(Of({"why", "config", ""}).objects, "podplacementconfigs");
  EXPECT_EQ(Of({"why", "pod", "web", ""}).objects, "");
  EXPECT_EQ(Of({"why", "cow", ""}).objects, "");
}

TEST_F(CompletionTest, ValuesOfFlags) {
  EXPECT_EQ(Of({"why", "-n", "sh"}).objects, "namespaces");
  EXPECT_EQ(Of({"why", "--namespace", ""}).objects, "namespaces");
  EXPECT_EQ(Of({"inspect", "--as-pod", ""}).objects, "pods");
  EXPECT_THAT(Of({"why", "pod", "web", "-o", "j"}).candidates, ElementsAre("json"));
  EXPECT_TRUE(Of({"--kubeconfig", ""}).files);
  EXPECT_THAT(Of({"--kubeconfig", ""}).candidates, IsEmpty());
  EXPECT_FALSE(Of({"why", ""}).files);
}

}  // namespace
}  // namespace plugin
