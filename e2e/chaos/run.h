// SPDX-License-Identifier: Apache-2.0
// Run: users and faults at once; then the faults end, everything has to work and to become quiet,
// the users delete what they have, and the recording of all that is judged.
//
//   Run run(stage, {.seed = 7, .length = 3min});
//   Result<> played = run.Play();
//   run.report().violations ...
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "e2e/chaos/fault_runner.h"
#include "e2e/chaos/faults/faults.h"
#include "e2e/chaos/pod_waits.h"
#include "e2e/chaos/report.h"
#include "e2e/chaos/stage/stage.h"
#include "e2e/chaos/users/users.h"
#include "e2e/framework/follower.h"
#include "e2e/recording/judge.h"
#include "e2e/recording/recorder.h"
#include "e2e/recording/recording_file.h"
#include "kube/base/task_group.h"

namespace e2e {

struct RunOptions {
  uint64_t seed = 1;
  std::chrono::milliseconds length = std::chrono::minutes(3);
  // Of the source tree, for the report.
  std::string revision;
  // Where the recording is written; "": nowhere.
  std::string recording;
  // Kinds of faults whose name has this text; "": all.
  std::string only;
};

// Thread: the cluster's.
class Run {
 public:
  Run(Stage& stage, RunOptions options);
  ~Run();

  // Errors: the run could not begin. What goes wrong in it is a violation.
  kube::Result<> Play();

  const RunReport& report() const { return report_; }
  const PodWaits& waits() const { return waits_; }
  const std::vector<PlannedFault>& timeline() const { return faults_->timeline(); }

 private:
  // Since the users began.
  std::chrono::milliseconds Now() const;
  void OnPod(const std::string& type, const kube::Json& pod);
  // Passes a moment of the cluster's time.
  void Step();
  void PlayFaults();
  void AwaitQuiet();
  void CheckProbes();
  void CheckRemoval();
  void CheckExits();
  void JudgeRecording();

  kube::Result<> IsQuiet();
  // Gives the judge what was recorded.
  void TakeRecording();
  void Violated(const std::string& text);

  Stage& stage_;
  const RunOptions options_;
  const std::vector<FaultKind> kinds_;
  PodWaits waits_;
  std::unique_ptr<FaultRunner> faults_;
  std::unique_ptr<Users> users_;
  Recorder recorder_;
  Follower pods_;
  kube::TaskGroup tasks_;
  kube::TimePoint start_{};
  kube::TimePoint next_take_{};
  int incomplete_ = 0;  // looks since the last part
  std::ofstream file_;
  RecordingWriter writer_{file_};
  Judge judge_;
  std::map<std::string, int> controller_restarts_;  // by pod
  RunReport report_;
};

}  // namespace e2e
