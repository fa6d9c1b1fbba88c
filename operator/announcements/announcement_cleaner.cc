// SPDX-License-Identifier: Apache-2.0
#include "operator/announcements/announcement_cleaner.h"

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
  co_return co_await DeleteIfObsolete(*lease);
}

Async<> AnnouncementCleaner::DeleteObsolete() {
  kube::ListOptions options{.field_selector =
                                "metadata.name=" + std::string(api::kAnnouncementsName)};
  Result<kube::TypedList<Lease>> leases = co_await kube::List<Lease>(client_, std::move(options));
  if (!leases) co_return leases.error().Prefix("list the announcements");
  std::optional<kube::Error> failure;
  for (const Lease& lease : leases->items) {
    Result<> deleted = co_await DeleteIfObsolete(lease);
    if (!deleted) failure = deleted.error();
  }
  if (failure) co_return *failure;
  co_return Ok();
}

Async<> AnnouncementCleaner::DeleteIfObsolete(const Lease& lease) {
  auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_.WallNow().time_since_epoch());
  if (watches::AnyCurrent(lease.metadata(), now)) co_return Ok();

  kube::ObjectKey key = kube::KeyOf(lease);
  std::string name = key.ToString();
  kube::DeleteOptions options{.uid = lease.metadata().uid(),
                              .resource_version = lease.metadata().resource_version()};
  Result<> deleted = co_await kube::Delete<Lease>(client_, std::move(key), std::move(options));
  if (deleted || IsNotFound(deleted) || IsConflict(deleted)) co_return Ok();
  co_return deleted.error().Prefix("delete Lease " + name);
}

}  // namespace operator_
