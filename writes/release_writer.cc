// SPDX-License-Identifier: Apache-2.0
#include "writes/release_writer.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/base/one_line.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/types/resource.h"

namespace writes {

using kube::Async;
using kube::Error;
using kube::Result;
using kube::core::Pod;

ReleaseWriter::ReleaseWriter(kube::Client& client, kube::Clock& clock, kube::EventRecorder& events,
                             std::string_view gate)
    : client_(client), events_(events), limiter_(clock), gate_(gate) {}

Async<Written> ReleaseWriter::Write(const Pod& pod, placement::Release& release,
                                    const std::string& log) {
  if (!release.released) co_return Written::kNotGated;
  Result<> written = co_await kube::Replace(client_, pod);
  if (!written && kube::IsRefusal(written.error())) {
    VLOG(1) << log << (release.additions ? " refused with additions: " : " refused, only ungated: ")
            << kube::OneLine(written.error().message());
    RecordFailure(pod, written.error());
    if (release.additions) co_return Written::kAdditionsRefused;

    Result<Pod> newest = co_await ReadNewest(pod);
    if (IsNotFound(newest)) co_return Written::kNotGated;
    if (!newest) co_return newest.error();
    release = placement::ReleaseBare(*newest, gate_);
    if (!release.released) co_return Written::kNotGated;
    written = co_await kube::Replace(client_, *newest);
  }
  if (!written) co_return written.error();

  kube::core::ObjectReference about = kube::ReferenceTo(pod);
  for (const placement::PodEvent& event : release.events) {
    VLOG(1) << log << " released: " << event.reason << ": " << kube::OneLine(event.message);
    events_.Record(about, event.warning, event.reason, event.message);
  }
  co_return Written::kReleased;
}

Async<Pod> ReleaseWriter::ReadNewest(const Pod& pod) {
  kube::ObjectKey key = kube::KeyOf(pod);
  Result<Pod> newest = co_await kube::Get<Pod>(client_, key);
  if (!newest) co_return newest.error().Prefix("read the pod");
  if (newest->metadata().uid() != pod.metadata().uid())
    co_return Error::NotFound("pod " + key.ToString());
  co_return newest;
}

void ReleaseWriter::RecordFailure(const Pod& pod, const Error& error) {
  if (error.code() == kube::Code::kCancelled) return;
  if (!limiter_.Allow(kube::KeyOf(pod), error.message())) return;
  std::string what = gate_ == api::kClusterGate ? "the scheduling gates"
                                                : "the scheduling gate " + std::string(gate_);
  events_.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonGateRemovalFailed,
                 "Could not remove " + what + ": " + error.message());
}

}  // namespace writes
