// SPDX-License-Identifier: Apache-2.0
#include "exec-format/learning/finding_store.h"

#include <glog/logging.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "api/architecture.h"
#include "api/owned_by_config.h"
#include "exec-format/findings/finding_limits.h"
#include "exec-format/node_architecture.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "placement/architecture.h"

namespace exec_format {

using kube::Async;
using kube::ObjectKey;
using kube::Result;
using namespace std::chrono_literals;

namespace {

// Of objects in memory: what others create beside this program.
constexpr size_t kMaxObjects = 2 * kMaxFindings;
constexpr std::chrono::milliseconds kTidyEvery = 1h;
constexpr std::chrono::milliseconds kTidyAgain = 1min;
constexpr int kNodesOfAPage = 500;

std::chrono::sys_seconds Now(const kube::Clock& clock) {
  return std::chrono::floor<std::chrono::seconds>(clock.WallNow());
}

}  // namespace

FindingStore::FindingStore(std::string ns, kube::Client& client, kube::Clock& clock,
                           cluster_controller::ImageFindings& in_force, LearningMetrics& metrics)
    : ns_(ns),
      client_(client),
      metadata_(client),
      clock_(clock),
      in_force_(in_force),
      metrics_(metrics),
      objects_(client, clock, {.ns = std::move(ns), .max_objects = kMaxObjects}),
      due_(clock, [this] { changed_.NotifyAll(); }) {
  objects_.OnEvent([this](kube::EventType type, const ImageFinding& finding) {
    if (type == kube::EventType::kDeleted) {
      in_force_.Erase(finding.metadata().name());
    } else {
      Apply(finding);
    }
    metrics_.findings.Set(static_cast<double>(in_force_.size()));
    if (!is_on_ || !knows_nodes_) changed_.NotifyAll();
  });
}

void FindingStore::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("image-findings-watch", objects_.Run());
  tasks.Spawn("image-findings", Run());
}

void FindingStore::Switch(bool on, const std::string& owner) {
  owner_ = owner;
  const bool is_first = !std::exchange(is_switched_, true);
  if (std::exchange(is_on_, on) == on && !is_first) return;
  ApplyAll();
  changed_.NotifyAll();
}

void FindingStore::ApplyAll() {
  objects_.ForEach([this](const ImageFinding& finding) { Apply(finding); });
  metrics_.findings.Set(static_cast<double>(in_force_.size()));
}

void FindingStore::Apply(const ImageFinding& finding) {
  const std::string& name = finding.metadata().name();
  if (is_on_ && knows_nodes_ && !finding.ignored && !finding.digest.empty() &&
      api::IsArchitectureName(finding.architecture)) {
    in_force_.Put(name, {finding.digest, finding.architecture, finding.ns, finding.amd64_level});
  } else {
    in_force_.Erase(name);
  }
}

kube::asio::awaitable<void> FindingStore::Run() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  Result<> waited = co_await objects_.WaitForSync();
  while (waited) {
    Result<> tidied = co_await Tidy();
    if (tidied && is_on_ && objects_.size() > 0) tidied = co_await ReadNodes();
    if (FailedWith(tidied, kube::Code::kCancelled)) co_return;
    LOG_IF(WARNING, !tidied) << "image findings: " << kube::OneLine(tidied.error().ToString());
    due_.Set(executor, clock_.Now() + (tidied ? kTidyEvery : kTidyAgain));
    waited = co_await changed_.Wait();
  }
}

Async<> FindingStore::Tidy() {
  if (!is_switched_) co_return kube::Ok();
  std::vector<std::string> removed;
  objects_.ForEach([&](const ImageFinding& finding) {
    const bool is_wanted = is_on_ && !IsExpired(finding, Now(clock_));
    if (!is_wanted && !finding.ignored) removed.push_back(finding.metadata().name());
  });
  Result<> done = kube::Ok();
  for (std::string& name : removed) {
    Result<> gone = co_await Remove(std::move(name));
    if (FailedWith(gone, kube::Code::kCancelled)) co_return gone;
    if (!gone && done) done = std::move(gone);
  }
  co_return done;
}

Async<> FindingStore::ReadNodes() {
  placement::ArchitectureSet offered;
  kube::ListOptions options{.limit = kNodesOfAPage};
  kube::ListPages pages(metadata_, kube::kNodes, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list nodes");
    for (const std::string& item : page->items) {
      kube::meta::PartialObject node;
      if (!kube::ParseMessage(item, node)) continue;
      std::string architecture = ArchitectureOf(node);
      if (!architecture.empty() && offered.size() < placement::kMaxArchitectures)
        offered.insert(std::move(architecture));
    }
  }
  in_force_.SetOffered(std::move(offered));
  if (!std::exchange(knows_nodes_, true)) ApplyAll();
  co_return kube::Ok();
}

Async<> FindingStore::Remove(std::string name) {
  const std::string context = "delete ImageFinding " + name;
  ObjectKey key{ns_, std::move(name)};
  Result<> removed = co_await kube::Delete<ImageFinding>(client_, std::move(key));
  if (removed || IsNotFound(removed)) co_return kube::Ok();
  co_return removed.error().Prefix(context);
}

Async<bool> FindingStore::Save(ImageFinding finding) {
  if (!objects_.synced()) co_return kube::Error::Unavailable("ImageFindings are not listed yet");
  const std::string name = FindingName(finding.digest, finding.architecture, finding.ns);
  finding.mutable_metadata()->set_name(name);
  finding.mutable_metadata()->set_namespace_(ns_);
  finding.seen = Now(clock_);
  const std::string context = "write ImageFinding " + name;
  if (std::optional<ImageFinding> known = objects_.Get(ObjectKey{ns_, name})) {
    if (known->ignored || known->seen + kFindingRefresh > finding.seen) co_return false;
    known->seen = finding.seen;
    Result<> written = co_await kube::Replace(client_, *known);
    // It was changed or deleted just now.
    if (!written && !IsConflict(written) && !IsNotFound(written))
      co_return written.error().Prefix(context);
    co_return false;
  }

  // It counts from its creation on.
  Result<> nodes = co_await ReadNodes();
  if (!nodes) co_return nodes.error();
  std::vector<ImageFinding> all;
  objects_.ForEach([&](const ImageFinding& known) { all.push_back(known); });
  for (std::string& evicted : MakeRoom(all, finding.of_namespace)) {
    LOG(WARNING) << "image findings: " << evicted << " is deleted, as there are too many of its "
                 << "namespace or in all";
    Result<> removed = co_await Remove(std::move(evicted));
    if (!removed) co_return removed.error();
    metrics_.evicted.Increment();
  }
  if (!owner_.empty())
    *finding.mutable_metadata()->add_owner_references() = api::OwnedByConfig(owner_);
  Result<ImageFinding> created = co_await kube::Create(client_, std::move(finding));
  // The watch is behind.
  if (FailedWith(created, kube::Code::kAlreadyExists)) co_return false;
  if (!created) co_return created.error().Prefix(context);
  metrics_.learned.Increment();
  Apply(*created);
  co_return true;
}

}  // namespace exec_format
