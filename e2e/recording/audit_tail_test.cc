// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/audit_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AuditTailTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_), std::filesystem::create_directory(folder_);
  }

  void Append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::vector<std::string> Read() {
    std::vector<std::string> lines;
    tail_.Read([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }

  const std::string folder_ = testing::TempDir() + "/audit_tail";
  const std::string path_ = folder_ + "/audit.log";
  AuditTail tail_{path_};
};

TEST_F(AuditTailTest, ReadsEachLineOnce) {
  EXPECT_THAT(Read(), IsEmpty());  // there is no log yet
  Append("a\nb\n");
  EXPECT_THAT(Read(), ElementsAre("a", "b"));
  EXPECT_THAT(Read(), IsEmpty());
  Append("c\n");
  EXPECT_THAT(Read(), ElementsAre("c"));
}

TEST_F(AuditTailTest, WaitsForTheEndOfALine) {
  Append("a\nhal");
  EXPECT_THAT(Read(), ElementsAre("a"));
  Append("f\nb\n");
  EXPECT_THAT(Read(), ElementsAre("half", "b"));
}

TEST_F(AuditTailTest, ReadsLinesThatAreLongerThanABlock) {
  const std::string a(700'000, 'a'), b(300'000, 'b');
  Append(a + "\n" + b);
  EXPECT_THAT(Read(), ElementsAre(a));
  Append("\n");
  EXPECT_THAT(Read(), ElementsAre(b));
}

TEST_F(AuditTailTest, ReadsARotatedLogToItsEnd) {
  Append("a\n");
  EXPECT_THAT(Read(), ElementsAre("a"));
  Append("b\n");
  std::filesystem::rename(path_, path_ + ".old");
  Append("c\n");
  EXPECT_THAT(Read(), ElementsAre("b", "c"));
  Append("d\n");
  EXPECT_THAT(Read(), ElementsAre("d"));
}

}  // namespace
}  // namespace e2e
