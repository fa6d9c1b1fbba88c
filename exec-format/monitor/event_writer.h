// SPDX-License-Identifier: Apache-2.0
// EventWriter: writes the findings of this node as ENoExecEvents. Two writes for each: the kind has
// a status. Its rights: to create ENoExecEvents in the operator's namespace, and to update their
// status.
//
// A node has a few names for its objects, so there are no more of them than that if nobody handles
// them: then the next ones wait. (A ResourceQuota would refuse all of them for the minutes until
// Kubernetes has counted a new kind.) Thread: the client's.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "exec-format/e_no_exec_event.h"
#include "exec-format/monitor/report_queue.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"

namespace exec_format {

// The names of a node's objects.
inline constexpr int kNames = 5;
// While all names are taken, or the API server is not available: doubled up to the second. Given up
// after the third, as nobody handles an older one.
inline constexpr std::chrono::seconds kFirstRetry{1};
inline constexpr std::chrono::seconds kLastRetry{60};
inline constexpr std::chrono::minutes kGiveUpAfter{10};

struct Place {
  std::string node;
  std::string ns;  // the operator's namespace
};

class EventWriter {
 public:
  // All outlive it.
  EventWriter(kube::Client& client, kube::Clock& clock, Place place);

  // Queues it, if it is one to be reported.
  void Report(Finding finding);
  // Writes what is queued, until cancelled.
  kube::asio::awaitable<void> Run();

  const ReportQueue::Dropped& dropped() const { return queue_.dropped(); }
  uint64_t written() const { return written_; }
  // The API server refused them, or kGiveUpAfter has passed.
  uint64_t failed() const { return failed_; }

 private:
  // Errors: the API server's; kThrottled if all names are taken.
  kube::Async<> Write(Finding finding);
  kube::Async<ENoExecEvent> CreateOne();
  // Errors: kCancelled.
  kube::Async<> WriteWithRetries(Finding finding);

  kube::Client& client_;
  kube::Clock& clock_;
  Place place_;
  ReportQueue queue_;
  kube::Notifier added_;
  std::string name_prefix_;
  int next_name_ = 0;
  uint64_t written_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace exec_format
