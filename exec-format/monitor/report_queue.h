// SPDX-License-Identifier: Apache-2.0
// ReportQueue: which findings of a node are reported, and when.
//
// A finding is reported once in kRepeatAfter, and a pod reports so many in that time. The pods take
// turns: one that reports much delays no other. Findings beyond a bound are dropped and counted;
// memory is bounded. Thread: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "exec-format/monitor/container.h"
#include "exec-format/pace.h"
#include "kube/base/clock.h"

namespace exec_format {

struct Finding {
  Container container;
  std::string command;
  std::string program = {};  // what the file is; "": not known
};

// The same command of the same container is reported again after this time.
inline constexpr std::chrono::minutes kRepeatAfter{10};
// Different findings of a pod in this time.
inline constexpr int kOfAPod = 5;
// Pods that have findings, or had some within kRepeatAfter. A node has no more than 500, of which
// few have any.
inline constexpr size_t kMaxPods = 256;
// The time between two reports, each of which costs the API server four writes, with those of the
// cluster controller; and how many follow each other at once.
inline constexpr std::chrono::seconds kReportEvery{5};
inline constexpr int kAtOnce = 5;

class ReportQueue {
 public:
  struct Dropped {
    uint64_t repeated = 0;  // it was reported within kRepeatAfter
    uint64_t of_pod = 0;    // its pod had reported kOfAPod
    uint64_t pods = 0;      // there were kMaxPods
  };

  // `clock` outlives it.
  explicit ReportQueue(kube::Clock& clock) : clock_(clock), pace_(clock, kAtOnce, kReportEvery) {}

  void Add(Finding finding);
  bool empty() const { return waiting_ == 0; }
  // When Next() may be called.
  kube::TimePoint NextAt() const { return pace_.NextAt(); }
  // The finding whose turn it is; nullopt if none waits.
  std::optional<Finding> Next();
  const Dropped& dropped() const { return dropped_; }

 private:
  struct Pod {
    std::string uid;
    kube::TimePoint since;  // the first of `known`
    std::vector<std::string> known{};
    std::deque<Finding> waiting{};
    uint64_t last_turn = 0;
  };

  // nullptr if there are too many.
  Pod* PodOf(const std::string& uid);

  kube::Clock& clock_;
  std::vector<Pod> pods_;
  size_t waiting_ = 0;
  uint64_t turn_ = 0;
  Pace pace_;
  Dropped dropped_;
};

}  // namespace exec_format
