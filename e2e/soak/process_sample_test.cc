// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/process_sample.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "kube/testing/matchers.h"

namespace e2e {
namespace {

using kube::FailsWith;

TEST(ProcessSampleTest, ReadsMemoryDescriptorsAndLogOfAProcess) {
  std::string log = std::string(std::getenv("TEST_TMPDIR")) + "/log";
  std::ofstream(log) << "12345";
  auto before = ReadKernelSample(getpid(), log);
  ASSERT_TRUE(before) << before.error();
  EXPECT_GT(before->rss_kb, 0);
  EXPECT_GT(before->fds, 2);
  EXPECT_EQ(before->log_bytes, 5);

  int more = open("/dev/null", O_RDONLY | O_CLOEXEC);
  auto after = ReadKernelSample(getpid(), log + ".missing");
  close(more);
  ASSERT_TRUE(after) << after.error();
  EXPECT_EQ(after->fds, before->fds + 1);
  EXPECT_EQ(after->log_bytes, 0);
}

TEST(ProcessSampleTest, AProcessThatHasEndedIsNotFound) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  waitid(P_PID, child, &ended, WEXITED | WNOWAIT);
  EXPECT_THAT(ReadKernelSample(child, ""), FailsWith(kube::Code::kNotFound)) << "not awaited yet";
  waitid(P_PID, child, &ended, WEXITED);
  EXPECT_THAT(ReadKernelSample(child, ""), FailsWith(kube::Code::kNotFound));
}

TEST(ProcessSampleTest, SumsAllSeriesOfAMetric) {
  constexpr char kText[] =
      "# HELP requests_total Requests {of all}.\n"
      "requests_total{code=\"200\",method=\"GET\"} 7\n"
      "requests_total{code=\"409\"} 1.5\n"
      "requests_total_other 100\n"
      "tasks 12\n";
  EXPECT_EQ(SumOfMetric(kText, "requests_total"), 8.5);
  EXPECT_EQ(SumOfMetric(kText, "tasks"), 12);
  EXPECT_EQ(SumOfMetric(kText, "requests"), std::nullopt);
  EXPECT_EQ(SumOfMetric("", "tasks"), std::nullopt);
}

}  // namespace
}  // namespace e2e
