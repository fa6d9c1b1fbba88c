// SPDX-License-Identifier: Apache-2.0
// ReleaseWriter: writes a released pod (placement/release.h) and records its events. A refusal by
// the API server does not keep the pod gated (I3):
//
//   accepted                    kReleased
//   refused, with additions     kAdditionsRefused: the caller decides again, without additions
//   refused, without additions  removes only the gates, from the newest pod: kReleased
//
//   ReleaseWriter writer(client, clock, events, api::kLocalGate);
//   Release release = ReleaseLocal(pod, configs);
//   Result<Written> written = co_await writer.Write(pod, release, log);
//   if (IsConflict(written)) ... decide again from co_await writer.ReadNewest(pod) ...
//
// Thread: the client's.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/controller/event_limiter.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/core.pb.h"
#include "placement/release.h"

namespace writes {

enum class Written {
  kReleased,
  // Only for a release with additions. The pod is still gated.
  kAdditionsRefused,
  // Nothing was written: the pod does not have the gate any more, or was deleted after a refusal.
  kNotGated,
};

class ReleaseWriter {
 public:
  // `gate`: the one that the caller removes; with the cluster gate, also the local one. All
  // arguments outlive this.
  ReleaseWriter(kube::Client& client, kube::Clock& clock, kube::EventRecorder& events,
                std::string_view gate);

  // Writes `pod`, guarded by its resourceVersion, if it was released. `release` is replaced by the
  // bare one if that was written. `log`: the start of each line. All outlive the call.
  // Errors: the API server's; a refusal only if that of the bare release.
  kube::Async<Written> Write(const kube::core::Pod& pod, placement::Release& release,
                             const std::string& log);

  // Reads the pod from the API server. kNotFound if it was deleted, even if another pod has its
  // name now.
  kube::Async<kube::core::Pod> ReadNewest(const kube::core::Pod& pod);

  // An event that the gates could not be removed, once in a while for the same error. None for
  // kCancelled.
  void RecordFailure(const kube::core::Pod& pod, const kube::Error& error);

 private:
  kube::Client& client_;
  kube::EventRecorder& events_;
  kube::EventLimiter limiter_;
  std::string_view gate_;
};

}  // namespace writes
