// SPDX-License-Identifier: Apache-2.0
#include "kube/base/setting_file.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class SettingFileTest : public testing::Test {
 protected:
  SettingFileTest() { std::filesystem::remove(path_); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::trunc) << text; }

  std::string path_ = std::string(std::getenv("TEST_TMPDIR")) + "/setting";
};

TEST_F(SettingFileTest, TellsAWordOnce) {
  SettingFile file(path_);
  EXPECT_EQ(file.Changed(), std::nullopt);
  Write(" Problems\n");
  EXPECT_EQ(file.Changed(), "Problems");
  EXPECT_EQ(file.Changed(), std::nullopt);
  Write(std::string(100'000, 'x'));
  EXPECT_EQ(file.Changed(), std::string(64, 'x'));
  std::filesystem::remove(path_);
  EXPECT_EQ(file.Changed(), "");
}

TEST_F(SettingFileTest, IsFollowed) {
  boost::asio::io_context io;
  FakeClock clock;
  TaskGroup tasks(io.get_executor());
  std::vector<std::string> words;
  Write("All");
  tasks.Spawn("setting", SettingFile::Follow(clock, path_, [&](const std::string& word) {
                words.push_back(word);
              }));
  Drain(io);
  Write("Problems");
  clock.Advance(5s);
  Drain(io);
  EXPECT_EQ(words, (std::vector<std::string>{"All", "Problems"}));
  EXPECT_TRUE(kube::Run(io, tasks.Stop(RealClock(), 5s)).has_value());
}

}  // namespace
}  // namespace kube
