// SPDX-License-Identifier: Apache-2.0
#include "operator/announcer.h"

#include "api/names.h"
#include "configs/announcements.h"
#include "kube/client/typed.h"
#include "kube/types/coordination.pb.h"

namespace operator_ {

using kube::Async;
using kube::Code;
using kube::Ok;
using kube::Result;
using kube::coordination::Lease;

namespace {

// The holder of a Lease renews it every two seconds; other configs of the namespace may be written at the same time.
constexpr int kTries = 10;

}  // namespace

Async<> Announcer::Announce(const api::PodPlacementConfig& config) {
  const kube::meta::ObjectMeta& metadata = config.metadata();
  std::string ns = metadata.namespace_();
  std::string name = metadata.name();
  std::string uid = metadata.uid();
  int64_t generation = metadata.generation();
  kube::ObjectKey leases[] = {{ns_, std::string(api::kControllerName)}, {ns, std::string(api::kShardControllerName)}};
  for (kube::ObjectKey& lease : leases) {
    Result<> announced = co_await AnnounceOn(std::move(lease), ns, name, uid, generation);
    if (!announced) co_return announced.error().Prefix("announce PodPlacementConfig " + name);
  }
  co_return Ok();
}

Async<> Announcer::AnnounceOn(kube::ObjectKey key, std::string ns, std::string name, std::string uid,
                              int64_t generation) {
  const std::string annotation(api::kAnnouncedConfigsAnnotation);
  for (int tries = 1;; ++tries) {
    Result<Lease> lease = co_await kube::Get<Lease>(client_, key);
    if (IsNotFound(lease)) co_return Ok();
    if (!lease) co_return lease.error();

    auto& annotations = *lease->mutable_metadata()->mutable_annotations();
    auto announcements = configs::Announcements::Parse(annotations[annotation]);
    configs::Announcement announcement{.uid = uid, .generation = generation};
    announcement.since_epoch = std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch());
    announcements.Add(ns, name, std::move(announcement));
    annotations[annotation] = announcements.ToString();

    Result<Lease> written = co_await kube::Update(client_, std::move(*lease));
    if (written || IsNotFound(written)) co_return Ok();
    if (written.error().code() != Code::kConflict || tries == kTries) co_return written.error();
  }
}

}  // namespace operator_
