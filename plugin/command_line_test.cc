// SPDX-License-Identifier: Apache-2.0
#include "plugin/command_line.h"

#include <gflags/gflags.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

DEFINE_string(namespace, "", "");
DEFINE_string(output, "", "");
DEFINE_bool(verbose, false, "");

namespace plugin {
namespace {

using testing::ElementsAre;

class CommandLineTest : public testing::Test {
 protected:
  void Parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "kubectl-placement");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    CommandLine line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
    words_ = line.words;
    ASSERT_EQ(line.flags.back(), nullptr);
    flags_.assign(line.flags.begin() + 1, line.flags.end() - 1);
  }

  std::vector<std::string> words_;
  std::vector<std::string> flags_;
};

TEST_F(CommandLineTest, FlagsMayBeAnywhere) {
  Parse({"--namespace", "shop", "why", "--verbose", "pod", "--output=json", "web-0"});
  EXPECT_THAT(words_, ElementsAre("why", "pod", "web-0"));
  EXPECT_THAT(flags_, ElementsAre("--namespace=shop", "--verbose", "--output=json"));
}

TEST_F(CommandLineTest, ShortFlagsAreThoseOfKubectl) {
  Parse({"why", "pod", "web-0", "-n", "shop", "-ojson"});
  EXPECT_THAT(words_, ElementsAre("why", "pod", "web-0"));
  EXPECT_THAT(flags_, ElementsAre("--namespace=shop", "--output=json"));
  Parse({"-n=shop", "-h"});
  EXPECT_THAT(flags_, ElementsAre("--namespace=shop", "--help"));
}

TEST_F(CommandLineTest, WhatIsUnknownIsLeftToTheParserOfFlags) {
  Parse({"--unknown", "word", "-x", "-"});
  EXPECT_THAT(words_, ElementsAre("word", "-"));
  EXPECT_THAT(flags_, ElementsAre("--unknown", "-x"));
}

TEST_F(CommandLineTest, AfterTwoDashesAllAreWords) {
  Parse({"why", "--", "-n", "--output"});
  EXPECT_THAT(words_, ElementsAre("why", "-n", "--output"));
  Parse({"why", "-n"});
  EXPECT_THAT(flags_, ElementsAre("--namespace")) << "without its value";
  Parse({});
  EXPECT_TRUE(words_.empty());
}

}  // namespace
}  // namespace plugin
