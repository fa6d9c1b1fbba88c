// SPDX-License-Identifier: Apache-2.0
#include "operator/announcements/announcement_cleaner.h"

#include <optional>
#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "watches/announcements.h"

namespace operator_ {

using kube::Async;
using kube::Json;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::coordination::Lease;

namespace {

constexpr std::chrono::minutes kInterval{3};

}  // namespace

Async<Outcome> AnnouncementCleaner::Reconcile(kube::Request request) {
  if (!request.key.ns.empty()) {
    Result<> withdrawn = co_await Withdraw(request.key.ns, request.key.name);
    if (!withdrawn) co_return withdrawn.error();
    co_return Outcome::Done();
  }
  Result<> deleted = co_await DeleteObsolete();
  if (!deleted) co_return deleted.error();
  co_return Outcome::After(kInterval);
}

Async<> AnnouncementCleaner::Withdraw(std::string ns, std::string uid) {
  kube::ObjectKey key{ns, std::string(api::kAnnouncementsName)};
  Result<Lease> lease = co_await kube::Get<Lease>(client_, key);
  if (IsNotFound(lease)) co_return Ok();
  if (!lease) co_return lease.error().Prefix("read the announcements of " + ns);

  std::string annotation = watches::AnnotationKey(uid);
  if (lease->metadata().annotations().contains(annotation)) {
    Json patch;
    patch["metadata"]["annotations"][annotation] = nullptr;
    kube::ApiRequest request{.method = kube::Method::kPatch,
                             .target = kube::ResourceOf<Lease>::value.Path(key.ns, key.name),
                             .content_type = std::string(kube::kMergePatch),
                             .accept = std::string(kube::kContentType<Lease>),
                             .body = kube::DumpJson(patch)};
    lease = co_await kube::CallFor<Lease>(client_, std::move(request));
    if (IsNotFound(lease)) co_return Ok();
    if (!lease) co_return lease.error().Prefix("withdraw an announcement of " + ns);
  }
  if (!watches::AnnouncementsOn(lease->metadata()).empty()) co_return Ok();
  Result<> deleted = co_await Delete(*lease);
  co_return deleted;
}

Async<> AnnouncementCleaner::DeleteObsolete() {
  kube::ListOptions options{.field_selector =
                                "metadata.name=" + std::string(api::kAnnouncementsName)};
  Result<kube::TypedList<Lease>> leases = co_await kube::List<Lease>(client_, std::move(options));
  if (!leases) co_return leases.error().Prefix("list the announcements");
  std::map<std::string, Seen> before = std::exchange(seen_, {});
  std::optional<kube::Error> failure;
  for (const Lease& lease : leases->items) {
    const kube::meta::ObjectMeta& metadata = lease.metadata();
    Seen seen{.version = metadata.resource_version(), .since = clock_.Now()};
    auto last = before.find(metadata.namespace_());
    if (last != before.end() && last->second.version == seen.version)
      seen.since = last->second.since;
    bool kept = clock_.Now() - seen.since < watches::kAnnouncementKept;
    seen_[metadata.namespace_()] = std::move(seen);
    if (kept && !watches::AnnouncementsOn(metadata).empty()) continue;
    Result<> deleted = co_await Delete(lease);
    if (!deleted) failure = deleted.error();
  }
  if (failure) co_return *failure;
  co_return Ok();
}

Async<> AnnouncementCleaner::Delete(const Lease& lease) {
  kube::ObjectKey key = kube::KeyOf(lease);
  std::string name = key.ToString();
  kube::DeleteOptions options{.uid = lease.metadata().uid(),
                              .resource_version = lease.metadata().resource_version()};
  Result<> deleted = co_await kube::Delete<Lease>(client_, std::move(key), std::move(options));
  if (deleted || IsNotFound(deleted) || IsConflict(deleted)) co_return Ok();
  co_return deleted.error().Prefix("delete Lease " + name);
}

}  // namespace operator_
