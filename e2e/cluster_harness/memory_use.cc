// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/memory_use.h"

#include <gtest/gtest.h>

#include <iostream>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"

namespace e2e {
namespace {

constexpr int kPercent = 60;

}  // namespace

void ExpectFarBelowLimit(const std::string& program, const std::string& ns,
                         const std::string& when) {
  std::vector<PodProcess*> processes = TheProcessCluster().kubelet().OfProgram(program, ns);
  EXPECT_FALSE(processes.empty()) << program;
  for (PodProcess* process : processes) {
    ASSERT_GT(process->memory_limit(), 0);
    auto pid = process->pid();
    ASSERT_TRUE(pid) << pid.error();
    auto cost = CostOf(*pid);
    ASSERT_TRUE(cost) << cost.error();
    long limit_kb = process->memory_limit() / 1024;
    std::cout << "figure: " << process->name() << " " << when << ": " << cost->rss_kb
              << " kB, at most " << cost->peak_rss_kb << " kB of " << limit_kb << " kB, "
              << 100 * cost->peak_rss_kb / limit_kb << " %" << std::endl;
    EXPECT_LT(cost->peak_rss_kb, limit_kb * kPercent / 100) << program;
  }
}

}  // namespace e2e
