// SPDX-License-Identifier: Apache-2.0
// Recorder: every change of the objects of a cluster that sim/checker reads, during a run on real
// processes. Watches say what was stored; the audit log of the API server says who wrote it.
//
//   Recorder recorder(client, clock, executor, {.audit_logs = {plane.audit_log()}});
//   co_await recorder.Start(10s);
//   ...                                  // the run
//   co_await recorder.Sync(10s);
//   judge.Add(recorder.Take());
//   co_await recorder.Stop();
//
// A watch that is cut resumes from its last resourceVersion. When the API server answers 410, the
// kind is listed again, and the commits since are a gap if the list shows a change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "e2e/recording/recorded.h"
#include "e2e/recording/recorded_kinds.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace e2e {

struct RecorderOptions {
  // A kind that the API server does not serve is asked for again every second.
  std::vector<kube::Resource> kinds = RecordedKinds();
  // The audit logs of all API servers, one JSON event a line (ControlPlaneOptions::record_writes).
  // They are read by Sync() and Take(). Empty: no commit has a user, and the judge applies only
  // the rules that need none.
  std::vector<std::string> audit_logs = {};
  // The longest text, in bytes of JSON, of the commits that nobody took. Beyond it, new commits are
  // dropped and a gap is noted.
  uint64_t max_bytes = uint64_t{128} << 20;
};

class Recorder {
 public:
  // `client` and `clock` outlive it. Thread: `executor`, which is the client's.
  Recorder(kube::Client& client, kube::Clock& clock, kube::Executor executor,
           RecorderOptions options = {});
  // Stop() must have returned, unless Start() was never called.
  ~Recorder();

  // Starts the watches and returns when every kind that is served was listed. Commit::at counts
  // from this call. Errors: kDeadlineExceeded; the recorder goes on trying.
  kube::Async<> Start(kube::Duration timeout);
  // Returns when the watches have delivered all writes that the audit logs name until now, and the
  // logs name the writers of all that the watches have delivered. Errors: kDeadlineExceeded with
  // what is missing.
  kube::Async<> Sync(kube::Duration timeout);
  // Ends the watches. What was recorded stays.
  kube::Async<> Stop();

  // Everything that nobody took yet, and forgets it, but for the latest state of each object.
  Recorded Take();

  // Since Start(), by the recorder's clock: the time of Commit::at.
  sim::checker::Time now() const;
  // Frames of all watches; watches that were opened.
  uint64_t frames() const;
  uint64_t watches() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace e2e
