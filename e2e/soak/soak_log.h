// SPDX-License-Identifier: Apache-2.0
// SoakLog: the results of a run as lines of JSON, each written at once. soak_report.py reads them.
//
// Each line has `kind` and `t`, in seconds since the start of the run:
//
//   start    the machine, the revision and the options
//   process  a sample of a process; `series` changes with each new process of a pod
//   pods     counts of pods since the start; gated, and the longest wait, since the last line
//   fault    its name, its target, and `until`
//   failure  what fails the run
//   end      counts, and all failures
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace e2e {

class SoakLog {
 public:
  // Replaces the file.
  SoakLog(const std::string& path, kube::Clock& clock);

  // Seconds from the start of the run, which is now.
  void Begin() { start_ = clock_.Now(); }
  double Seconds(kube::TimePoint time) const {
    return std::chrono::duration<double>(time - start_).count();
  }
  // `t` is now unless the line has it.
  void Write(std::string_view kind, kube::Json line);
  // Also a line on standard error.
  void Fail(const std::string& what);

  const std::vector<std::string>& failures() const { return failures_; }
  // kUnavailable if a line could not be written.
  kube::Result<> Check() const;

 private:
  std::string path_;
  kube::Clock& clock_;
  std::ofstream file_;
  kube::TimePoint start_;
  std::vector<std::string> failures_;
};

}  // namespace e2e
