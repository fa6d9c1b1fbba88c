// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/event_writer.h"

#include <glog/logging.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <utility>

#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"

namespace exec_format {

using kube::Async;
using kube::Result;

namespace {

// The name of a node may be as long as that of an object.
std::string NamePrefixOf(const std::string& node) {
  std::ostringstream prefix;
  prefix << "exec-format-error-" << std::hex << std::hash<std::string>()(node) << "-";
  return prefix.str();
}

bool MayHelpLater(const kube::Error& error) {
  return error.code() == kube::Code::kUnavailable || error.code() == kube::Code::kThrottled ||
         error.code() == kube::Code::kDeadlineExceeded;
}

}  // namespace

EventWriter::EventWriter(kube::Client& client, kube::Clock& clock, Place place)
    : client_(client),
      clock_(clock),
      place_(std::move(place)),
      queue_(clock),
      name_prefix_(NamePrefixOf(place_.node)) {}

void EventWriter::Report(Finding finding) {
  queue_.Add(std::move(finding));
  added_.NotifyAll();
}

kube::asio::awaitable<void> EventWriter::Run() {
  co_await kube::IgnoreCancellation();
  Result<> waited = kube::Ok();
  while (waited) {
    if (queue_.empty()) {
      waited = co_await added_.Wait();
    } else if (kube::TimePoint at = queue_.NextAt(); at > clock_.Now()) {
      waited = co_await clock_.SleepUntil(at);
    } else if (std::optional<Finding> finding = queue_.Next()) {
      waited = co_await WriteWithRetries(std::move(*finding));
    }
  }
}

Async<> EventWriter::WriteWithRetries(Finding finding) {
  const std::string log = "exec format error of " + kube::OneLine(finding.command) +
                          " in container " + finding.container.id + " of pod " +
                          finding.container.pod_uid;
  const kube::TimePoint deadline = clock_.Now() + kGiveUpAfter;
  kube::Duration delay = kFirstRetry;
  while (true) {
    Result<> written = co_await Write(finding);
    if (FailedWith(written, kube::Code::kCancelled)) co_return written;
    if (written) {
      ++written_;
      LOG(INFO) << log;
      co_return kube::Ok();
    }
    if (!MayHelpLater(written.error()) || clock_.Now() + delay > deadline) {
      ++failed_;
      LOG(WARNING) << log << ": not reported: " << written.error();
      co_return kube::Ok();
    }
    Result<> slept = co_await clock_.Sleep(delay);
    if (!slept) co_return slept;
    delay = std::min<kube::Duration>(2 * delay, kLastRetry);
  }
}

Async<> EventWriter::Write(Finding finding) {
  // The API server drops the status of a new object.
  Result<ENoExecEvent> event = co_await CreateOne();
  if (!event) co_return event.error();
  event->node_name = place_.node;
  event->pod_uid = std::move(finding.container.pod_uid);
  event->container_id = std::move(finding.container.id);
  event->command = std::move(finding.command);
  event->program = std::move(finding.program);
  kube::ApiRequest request = kube::UpdateRequest(*event);
  request.target += "/status";
  co_return co_await kube::Send(client_, std::move(request));
}

Async<ENoExecEvent> EventWriter::CreateOne() {
  for (int tried = 0; tried < kNames; ++tried) {
    ENoExecEvent event;
    event.mutable_metadata()->set_namespace_(place_.ns);
    event.mutable_metadata()->set_name(name_prefix_ + std::to_string(next_name_));
    next_name_ = (next_name_ + 1) % kNames;
    Result<ENoExecEvent> created = co_await kube::Create<ENoExecEvent>(client_, std::move(event));
    if (!FailedWith(created, kube::Code::kAlreadyExists)) co_return created;
  }
  co_return kube::Error::Throttled("the ENoExecEvents of this node are not handled: " +
                                   name_prefix_ + "0 and further ones exist");
}

}  // namespace exec_format
