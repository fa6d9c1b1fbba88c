// SPDX-License-Identifier: Apache-2.0
// EventWriter: writes the findings of this node as ENoExecEvents. Two writes for each: the kind has
// a status. Its rights: to create ENoExecEvents in the operator's namespace, and to update their
// status. Thread: the client's.
#pragma once

#include <cstdint>
#include <string>

#include "exec-format/monitor/report_queue.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"

namespace exec_format {

// Attempts for one finding; while the API server is not available, longer and longer ones.
inline constexpr int kAttempts = 6;
inline constexpr std::chrono::seconds kFirstRetry{1};

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
  // The API server refused them, or was not available for all kAttempts.
  uint64_t failed() const { return failed_; }

 private:
  // Errors: the API server's.
  kube::Async<> Write(Finding finding);
  // Errors: kCancelled.
  kube::Async<> WriteWithRetries(Finding finding);

  kube::Client& client_;
  kube::Clock& clock_;
  Place place_;
  ReportQueue queue_;
  kube::Notifier added_;
  uint64_t written_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace exec_format
