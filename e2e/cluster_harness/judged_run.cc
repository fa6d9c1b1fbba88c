// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/judged_run.h"

#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "e2e/recording/expect_violation.h"
#include "kube/client/new_client.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Result;

namespace {

// A flow may end while the API server is away for some seconds.
constexpr auto kSync = 10s;

std::chrono::nanoseconds OwnCpu() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

void Add(std::map<std::string, uint64_t>& sum, const std::map<std::string, uint64_t>& counts) {
  for (const auto& [what, count] : counts) sum[what] += count;
}

}  // namespace

JudgedRun::JudgedRun(ProcessCluster& cluster, std::unique_ptr<kube::Client> client)
    : cluster_(cluster),
      client_(std::move(client)),
      recorder_(*client_, cluster.clock(), cluster.io().get_executor(),
                {.audit_logs = {cluster.control_plane().audit_log()}}),
      judge_({.operator_namespace = cluster.operator_namespace()}) {
  if (const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR")) {
    path_ = std::string(folder) + "/recording.jsonl";
    file_.open(path_);
    writer_ = std::make_unique<RecordingWriter>(file_);
  }
}

Result<std::unique_ptr<JudgedRun>> JudgedRun::Start(ProcessCluster& cluster) {
  auto client = kube::NewClient(cluster.io().get_executor(), cluster.clock(), cluster.connection(),
                                {.user_agent = "recorder",
                                 // A bookmark comes every minute.
                                 .watch_idle_timeout = 90s});
  if (!client) return client.error();
  std::unique_ptr<JudgedRun> run(new JudgedRun(cluster, std::move(*client)));
  Result<> started = cluster.Run(run->recorder_.Start(cluster.timeout()));
  if (!started) return started.error().Prefix("record the cluster");
  return run;
}

JudgedRun::~JudgedRun() {
  kube::IgnoreError(cluster_.Run(recorder_.Stop()), "the cluster ends");
  if (writer_ && !keep_file_) std::remove(path_.c_str());
}

Verdict JudgedRun::JudgeFlow() {
  Result<> synced = cluster_.Run(recorder_.Sync(kSync));
  const auto begin = OwnCpu();
  Recorded recorded = recorder_.Take();
  if (writer_) writer_->Write(recorded);
  for (Expected& expected : TakeExpectedViolations()) judge_.Expect(std::move(expected));
  judge_.Add(recorded);
  Verdict verdict = judge_.Take();
  if (!synced) ++verdict.not_judged["(waited in vain) " + synced.error().message()];
  if (!verdict.violations.empty()) keep_file_ = true;

  judging_ += OwnCpu() - begin;
  all_.commits += verdict.commits;
  all_.pods_judged += verdict.pods_judged;
  Add(all_.not_judged, verdict.not_judged);
  Add(all_.not_applied, verdict.not_applied);
  Add(all_.expected, verdict.expected);
  all_.violations.resize(all_.violations.size() + verdict.violations.size());
  all_.gaps.insert(all_.gaps.end(), verdict.gaps.begin(), verdict.gaps.end());
  return verdict;
}

std::string JudgedRun::Summary() const {
  char cost[96];
  std::snprintf(cost, sizeof(cost), "; %llu frames, %.1f s of CPU for judging, of %.1f s in all",
                static_cast<unsigned long long>(recorder_.frames()),
                std::chrono::duration<double>(judging_).count(),
                std::chrono::duration<double>(OwnCpu()).count());
  return all_.Summary() + cost;
}

}  // namespace e2e
