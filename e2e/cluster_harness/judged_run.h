// SPDX-License-Identifier: Apache-2.0
// JudgedRun: records all that happens on a cluster of processes, and judges it flow by flow.
//
//   auto run = JudgedRun::Start(cluster);    // before the operator is deployed
//   Verdict verdict = (*run)->JudgeFlow();   // when a flow has ended
//
// Needs ControlPlaneOptions::record_writes. The recording is also written to recording.jsonl in
// TEST_UNDECLARED_OUTPUTS_DIR, for `bazel run //e2e/recording:judge`; it is removed at the end if
// nothing was found.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/recording/judge.h"
#include "e2e/recording/recorder.h"
#include "e2e/recording/recording_file.h"

namespace e2e {

class JudgedRun {
 public:
  // `cluster` outlives it. Errors: those of Recorder::Start().
  static kube::Result<std::unique_ptr<JudgedRun>> Start(ProcessCluster& cluster);
  ~JudgedRun();

  // Judges what was committed since the last call.
  Verdict JudgeFlow();
  // Keeps the file, because a flow failed.
  void KeepFile() { keep_file_ = true; }
  // What the recorder and the judge have cost so far, and the sums of all flows.
  std::string Summary() const;

 private:
  JudgedRun(ProcessCluster& cluster, std::unique_ptr<kube::Client> client);

  ProcessCluster& cluster_;
  std::unique_ptr<kube::Client> client_;
  Recorder recorder_;
  Judge judge_;
  std::string path_;
  std::ofstream file_;
  std::unique_ptr<RecordingWriter> writer_;
  bool keep_file_ = false;
  // Of all flows, without the violations themselves.
  Verdict all_;
  std::chrono::nanoseconds judging_{};
};

}  // namespace e2e
