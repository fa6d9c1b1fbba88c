// SPDX-License-Identifier: Apache-2.0
#include "kube/base/log_verbosity.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kube {
namespace {

class LogVerbosityTest : public testing::Test {
 protected:
  LogVerbosityTest() { StartLogVerbosity(); }
  // The level after the file got `text`.
  int LevelWith(const std::string& text) {
    std::ofstream(path_) << text;
    file_.Refresh();
    return FLAGS_v;
  }

  std::string path_ = std::string(std::getenv("TEST_TMPDIR")) + "/verbosity";
  LogVerbosityFile file_{path_};
};

TEST_F(LogVerbosityTest, IsSetByWord) {
  SetLogVerbosity("Trace");
  EXPECT_EQ(FLAGS_v, 2);
  EXPECT_TRUE(VLOG_IS_ON(2));
  SetLogVerbosity("Debug");
  EXPECT_FALSE(VLOG_IS_ON(2));
  SetLogVerbosity("");
  EXPECT_EQ(FLAGS_v, 0);
}

TEST_F(LogVerbosityTest, FollowsAFile) {
  file_.Refresh();
  EXPECT_EQ(FLAGS_v, 0);
  EXPECT_EQ(LevelWith("Debug"), 1);
  EXPECT_EQ(LevelWith(" TraceAll\n"), 3);
  std::filesystem::remove(path_);
  file_.Refresh();
  EXPECT_EQ(FLAGS_v, 0);
}

TEST_F(LogVerbosityTest, IgnoresOtherText) {
  EXPECT_EQ(LevelWith("Debug"), 1);
  for (const std::string& text : {std::string("Loud"), std::string("3"), std::string("Trace Trace"),
                                  std::string(1'000'000, 'x'), std::string("Trace\0", 6)})
    EXPECT_EQ(LevelWith(text), 1) << text.substr(0, 20);
  EXPECT_EQ(LevelWith("Normal"), 0);
}

// A caller's word stays until the file's text changes.
TEST_F(LogVerbosityTest, AnUnchangedFileSetsNothing) {
  EXPECT_EQ(LevelWith("Debug"), 1);
  SetLogVerbosity("Trace");
  file_.Refresh();
  EXPECT_EQ(FLAGS_v, 2);
  EXPECT_EQ(LevelWith("Normal"), 0);
}

}  // namespace
}  // namespace kube
