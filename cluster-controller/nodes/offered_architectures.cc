// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/nodes/offered_architectures.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "api/node_offers.h"
#include "kube/client/metadata_lists.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/types/kinds.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;
using placement::NodeOffers;
using placement::RequiredPlatforms;

std::string Message(const RequiredPlatforms& required) {
  return "No node now has an architecture that the pod requires, and no NodePool offers one: " +
         placement::Describe(required) +
         ". The pod stays Pending until such a node is added, for example by an autoscaler";
}

}  // namespace

void OfferedArchitectures::Check(const kube::core::Pod& pod) {
  std::optional<RequiredPlatforms> required = placement::RequiredPlatformsOf(pod);
  if (!required || IsKnownToFit(*required)) return;
  const std::string& ns = pod.metadata().namespace_();
  auto of_namespace = waiting_of_.find(ns);
  size_t others = of_namespace == waiting_of_.end() ? 0 : of_namespace->second;
  if (others >= limits_.per_namespace || waiting_.size() >= limits_.total) {
    LOG_EVERY_N(INFO, 1000) << "too many pods require architectures that no node is known to have: "
                               "at most "
                            << limits_.per_namespace << " of a namespace and " << limits_.total
                            << " of the cluster wait for the next list; further ones get no event";
    return;
  }
  ++waiting_of_[ns];
  waiting_.push_back({kube::ReferenceTo(pod), std::move(*required)});
  if (running_) return;
  running_ = true;
  tasks_.Spawn("list offered architectures", Run());
}

bool OfferedArchitectures::IsKnownToFit(const RequiredPlatforms& required) const {
  return offers_ && clock_.Now() - offers_since_ < kOffersLifetime && offers_->Fit(required);
}

kube::asio::awaitable<void> OfferedArchitectures::Run() {
  co_await kube::IgnoreCancellation();
  while (!waiting_.empty()) {
    kube::TimePoint start = std::max(next_list_, clock_.Now() + kListOffersAfter);
    Result<> slept = co_await clock_.SleepUntil(start);
    if (!slept) co_return;
    // Of a pod that comes later, the node may come later too: it waits for the next list.
    std::vector<Waiting> pods = std::exchange(waiting_, {});
    waiting_of_.clear();
    nodes_ = 0;
    Result<NodeOffers> offers = co_await List();
    if (FailedWith(offers, kube::Code::kCancelled)) co_return;
    next_list_ = clock_.Now() + kListOffersEvery + kOffersForEachNode * static_cast<int>(nodes_);
    if (!offers) {
      LOG_EVERY_N(WARNING, 100) << offers.error();
      continue;
    }
    offers_ = std::move(*offers);
    offers_since_ = start;
    Decide(pods);
  }
  running_ = false;
}

void OfferedArchitectures::Decide(const std::vector<Waiting>& pods) {
  for (const Waiting& pod : pods) {
    if (offers_->Fit(pod.required)) continue;
    events_.Record(pod.about, /*warning=*/true, api::kReasonNoNodeOffersArchitecture,
                   Message(pod.required));
  }
}

Async<NodeOffers> OfferedArchitectures::List() {
  kube::TimePoint deadline = clock_.Now() + kListOffersTimeout;
  NodeOffers offers;
  // First, as they are few: without them, the nodes are of no use.
  Result<> listed = co_await ListNodePools(deadline, offers);
  // The CRD is not installed.
  if (IsNotFound(listed)) listed = kube::Ok();
  if (!listed) co_return listed.error().Prefix("list NodePools for their architectures");
  listed = co_await ListNodes(deadline, offers);
  if (!listed) co_return listed.error().Prefix("list nodes for their architectures");
  co_return offers;
}

Async<> OfferedArchitectures::ListNodePools(kube::TimePoint deadline, NodeOffers& offers) {
  size_t pools = 0;
  std::function<bool(const std::string&)> add = [&offers, &pools](const std::string& item) {
    Result<kube::Json> pool = kube::ParseJson(item);
    if (!pool || ++pools > kMaxNodePools) {
      offers.AddUnknown();
      return false;
    }
    offers.AddNodePool(*pool);
    return true;
  };
  Result<> read =
      co_await ReadItems(client_, kNodePools, /*protobuf=*/false, deadline, std::move(add));
  co_return read;
}

Async<> OfferedArchitectures::ListNodes(kube::TimePoint deadline, NodeOffers& offers) {
  kube::MetadataLists metadata(client_);
  std::function<bool(const std::string&)> add = [this, &offers](const std::string& item) {
    ++nodes_;
    auto node = kube::DecodeBare<kube::meta::PartialObject>(item);
    if (node) {
      offers.AddNode(node->metadata().labels());
    } else {
      offers.AddUnknown();
    }
    return true;
  };
  Result<> read =
      co_await ReadItems(metadata, kube::kNodes, /*protobuf=*/true, deadline, std::move(add));
  co_return read;
}

Async<> OfferedArchitectures::ReadItems(kube::Client& client, kube::Resource resource,
                                        bool protobuf, kube::TimePoint deadline,
                                        std::function<bool(const std::string&)> add) {
  kube::ListOptions options;
  kube::ListPages pages(client, resource, std::move(options), protobuf);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    if (clock_.Now() > deadline) co_return Error::DeadlineExceeded("more pages");
    for (const std::string& item : page->items) {
      if (!add(item)) co_return kube::Ok();
    }
  }
  co_return kube::Ok();
}

}  // namespace cluster_controller
