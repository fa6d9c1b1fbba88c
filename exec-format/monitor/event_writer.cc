// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/event_writer.h"

#include <glog/logging.h>

#include <optional>
#include <utility>

#include "exec-format/e_no_exec_event.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"

namespace exec_format {

using kube::Async;
using kube::Result;

namespace {

constexpr kube::Resource kResource = kube::ResourceOf<ENoExecEvent>::value;
constexpr char kNamePrefix[] = "exec-format-error-";

bool MayHelpLater(const kube::Error& error) {
  return error.code() == kube::Code::kUnavailable || error.code() == kube::Code::kThrottled ||
         error.code() == kube::Code::kDeadlineExceeded;
}

}  // namespace

EventWriter::EventWriter(kube::Client& client, kube::Clock& clock, Place place)
    : client_(client), clock_(clock), place_(std::move(place)), queue_(clock) {}

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
  std::string log = "exec format error of " + kube::OneLine(finding.command) + " in container " +
                    finding.container.id + " of pod " + finding.container.pod_uid;
  kube::Duration delay = kFirstRetry;
  for (int attempt = 1;; ++attempt, delay *= 2) {
    Result<> written = co_await Write(finding);
    if (FailedWith(written, kube::Code::kCancelled)) co_return written;
    if (written) {
      ++written_;
      LOG(INFO) << log;
      co_return kube::Ok();
    }
    if (attempt == kAttempts || !MayHelpLater(written.error())) {
      ++failed_;
      LOG(WARNING) << log << ": not reported: " << written.error();
      co_return kube::Ok();
    }
    Result<> slept = co_await clock_.Sleep(delay);
    if (!slept) co_return slept;
  }
}

Async<> EventWriter::Write(Finding finding) {
  ENoExecEvent event;
  event.mutable_metadata()->set_namespace_(place_.ns);
  event.mutable_metadata()->set_generate_name(kNamePrefix);
  event.node_name = place_.node;
  event.pod_uid = std::move(finding.container.pod_uid);
  event.container_id = std::move(finding.container.id);
  event.command = std::move(finding.command);
  // The API server drops the status of a new object.
  Result<ENoExecEvent> created = co_await kube::Create<ENoExecEvent>(client_, event);
  if (!created) co_return created.error();
  *event.mutable_metadata() = created->metadata();
  kube::ApiRequest request = kube::UpdateRequest(event);
  request.target += "/status";
  co_return co_await kube::Send(client_, std::move(request));
}

}  // namespace exec_format
