// SPDX-License-Identifier: Apache-2.0
#include "operator/announcements/announcer.h"

#include <glog/logging.h>

#include <algorithm>

#include "api/names.h"
#include "kube/client/typed.h"
#include "operator/objects/metadata.h"

namespace operator_ {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;
using kube::TimePoint;
using kube::coordination::Lease;
using watches::Announcement;

namespace {

// Another process may create, change or delete the Lease in between, and a tenant may do so in a
// loop.
constexpr int kMaxAttempts = 10;
// Namespaces whose last write is known.
constexpr size_t kMaxWritten = 1024;

std::chrono::seconds SecondsOf(kube::WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch());
}

std::chrono::milliseconds Until(TimePoint deadline, kube::Clock& clock) {
  return std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now());
}

}  // namespace

Announcer::Announcer(kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks,
                     AnnouncerOptions options, kube::Counter& failures)
    : client_(client),
      clock_(clock),
      tasks_(tasks),
      options_(std::move(options)),
      failures_(failures),
      written_(kMaxWritten) {}

Async<> Announcer::Announce(const api::PodPlacementConfig& config, TimePoint deadline) {
  const kube::meta::ObjectMeta& metadata = config.metadata();
  if (metadata.uid().empty())
    co_return Error::Invalid("a PodPlacementConfig without a uid cannot be announced");
  const std::string& ns = metadata.namespace_();
  auto [entry, idle] = next_.try_emplace(ns);
  if (entry->second == nullptr) entry->second = std::make_shared<Write>();
  std::shared_ptr<Write> write = entry->second;

  Announcement& announcement = write->announcements[metadata.uid()];
  announcement.uid = metadata.uid();
  announcement.name = metadata.name();
  announcement.generation = std::max<int64_t>(announcement.generation, metadata.generation());
  write->may_change_pods |= config.MayChangePods();
  if (idle) tasks_.Spawn("announce-" + ns, WriteAll(ns));

  if (clock_.Now() >= deadline) co_return Ok();
  while (!write->result) {
    Result<> waited = co_await write->done.Wait();
    if (!waited) co_return waited.error();
  }
  if (!*write->result) co_return write->result->error();
  Result<> slept = co_await clock_.SleepUntil(write->ended + options_.ahead);
  co_return slept;
}

boost::asio::awaitable<void> Announcer::WriteAll(std::string ns) {
  co_await kube::IgnoreCancellation();
  while (next_[ns] != nullptr) {
    std::shared_ptr<Write> write = std::move(next_[ns]);
    next_[ns] = nullptr;
    Result<> written = co_await WriteOnce(ns, write);
    write->ended = clock_.Now();
    write->result = written;
    write->done.NotifyAll();
    if (written) continue;
    failures_.Increment();
    LOG(WARNING) << "namespace=" << ns
                 << " PodPlacementConfigs were not announced; a pod created at the same time may "
                 << "miss their preferences: " << written.error();
  }
  next_.erase(ns);
}

Async<> Announcer::WriteOnce(std::string ns, std::shared_ptr<Write> write) {
  TimePoint deadline = clock_.Now() + options_.timeout;
  // A Lease that exists is patched, any other is created: in most namespaces one write is enough.
  bool exists = Exists(ns);
  for (int attempt = 1;; ++attempt) {
    Result<> written = Error::NotFound("");
    if (exists) {
      written = co_await Patch(ns, write, deadline);
    } else {
      written = co_await Create(ns, write, deadline);
    }
    if (written) written_.Put(ns, clock_.Now());
    if (written || attempt == kMaxAttempts || clock_.Now() >= deadline) co_return written;
    Code code = written.error().code();
    if (code == Code::kInvalid) {
      // The Lease was filled up to the API server's limit. Its announcements are lost, for this
      // namespace alone.
      kube::ObjectKey key{ns, std::string(api::kAnnouncementsName)};
      Result<> removed = co_await kube::Delete<Lease>(client_, std::move(key));
      if (!removed && !IsNotFound(removed)) co_return removed.error();
      exists = false;
    } else if (code == Code::kAlreadyExists || (exists && code == Code::kNotFound)) {
      exists = !exists;
    } else if (code != Code::kConflict) {
      co_return written;
    }
  }
}

bool Announcer::Exists(const std::string& ns) {
  const TimePoint* written = written_.Find(ns);
  return written != nullptr && clock_.Now() - *written < watches::kAnnouncementKept;
}

watches::AnnotationChanges Announcer::Changes(const Write& write,
                                              const kube::meta::ObjectMeta& metadata) const {
  std::vector<Announcement> writes;
  for (const auto& [uid, announcement] : write.announcements) writes.push_back(announcement);
  watches::AnnotationChanges changes =
      watches::Announcing(writes, metadata, SecondsOf(clock_.WallNow()));
  if (write.may_change_pods)
    changes[std::string(api::kPreferencesAnnouncedAnnotation)] = std::string("true");
  return changes;
}

Async<> Announcer::Patch(std::string ns, std::shared_ptr<Write> write, TimePoint deadline) {
  const std::string path = kube::ResourceOf<Lease>::value.Path(ns, api::kAnnouncementsName);
  kube::ApiRequest get{.target = path, .accept = std::string(kube::kContentType<Lease>)};
  get.timeout = Until(deadline, clock_);
  Result<Lease> lease = co_await kube::CallFor<Lease>(client_, std::move(get));
  if (!lease) co_return lease.error();
  if (clock_.Now() >= deadline) co_return Error::DeadlineExceeded("write Lease " + path);

  Json annotations = Json::object();
  for (auto& [key, value] : Changes(*write, lease->metadata()))
    annotations[key] = value ? Json(*value) : Json();
  Json patch;
  patch["metadata"]["resourceVersion"] = lease->metadata().resource_version();
  patch["metadata"]["annotations"] = std::move(annotations);
  kube::ApiRequest request{.method = kube::Method::kPatch,
                           .target = path,
                           .content_type = std::string(kube::kMergePatch),
                           .accept = std::string(kube::kContentType<Lease>),
                           .body = kube::DumpJson(patch)};
  request.timeout = Until(deadline, clock_);
  Result<> patched = co_await kube::Send(client_, std::move(request));
  co_return patched;
}

Async<> Announcer::Create(std::string ns, std::shared_ptr<Write> write, TimePoint deadline) {
  Lease lease;
  kube::meta::ObjectMeta& metadata = *lease.mutable_metadata();
  metadata.set_namespace_(ns);
  metadata.set_name(std::string(api::kAnnouncementsName));
  (*metadata.mutable_labels())[std::string(kManagedByLabel)] = std::string(kManagedBy);
  *metadata.add_owner_references() = options_.owner;
  for (auto& [key, value] : Changes(*write, metadata)) {
    if (value) (*metadata.mutable_annotations())[key] = *value;
  }
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::ResourceOf<Lease>::value.Path(ns),
                           .content_type = std::string(kube::kContentType<Lease>),
                           .accept = std::string(kube::kContentType<Lease>),
                           .body = kube::Encode(lease)};
  request.timeout = Until(deadline, clock_);
  Result<> created = co_await kube::Send(client_, std::move(request));
  co_return created;
}

}  // namespace operator_
