// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/nodes/node_images.h"

#include <glog/logging.h>

#include <memory>
#include <utility>
#include <vector>

#include "inspection/base/reference.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Result;

// Nodes have tens of KiB.
constexpr int kNodesOfAPage = 100;

}  // namespace

std::optional<Result<placement::SharedPlatforms>> NodeImages::Find(const kube::ObjectKey& pod,
                                                                   const std::string& image,
                                                                   bool wait) {
  Result<inspection::Reference> reference = inspection::Reference::Parse(image);
  if (!reference) return reference.error();
  bool due = clock_.Now() >= next_list_;
  placement::ImagePlatforms platforms;
  if (index_) platforms = index_->Find(*reference);
  auto asked = waiting_.find(pod);
  bool has_waited = asked != waiting_.end() && asked->second < lists_;
  bool waits = platforms.platforms.empty() && !has_waited && (due || wait);
  if (waits) waiting_.try_emplace(pod, lists_);
  if ((waits || due) && !running_) {
    running_ = true;
    tasks_.Spawn("list nodes", Run());
  }
  if (waits) return std::nullopt;
  if (!index_) return *error_;
  return std::make_shared<const placement::ImagePlatforms>(std::move(platforms));
}

kube::asio::awaitable<void> NodeImages::Run() {
  co_await kube::IgnoreCancellation();
  Result<> slept = co_await clock_.SleepUntil(next_list_);
  if (!slept) co_return;
  NodeImageIndex index(kMaxNodeImageBytes);
  Result<> listed = co_await List(index);
  if (FailedWith(listed, kube::Code::kCancelled)) co_return;
  error_.reset();
  if (!listed) {
    LOG_EVERY_N(WARNING, 100) << listed.error();
    error_ = listed.error();
  }
  if (index.left_out() > 0) {
    LOG_FIRST_N(WARNING, 1) << index.left_out() << " names of images of " << index.nodes()
                            << " nodes are left out: more than " << kMaxNodeImageBytes << " bytes";
  }
  next_list_ = clock_.Now() + kListNodesEvery + kForEachNode * static_cast<int>(index.nodes());
  // What was known stays, if the list failed.
  if (listed) index_ = std::move(index);
  ++lists_;
  running_ = false;
  std::vector<kube::ObjectKey> pods;
  for (const auto& [pod, asked] : waiting_) pods.push_back(pod);
  if (!wake_) co_return;
  for (const kube::ObjectKey& pod : pods) wake_(pod);
}

Async<> NodeImages::List(NodeImageIndex& index) {
  kube::TimePoint deadline = clock_.Now() + kListNodesTimeout;
  kube::ListOptions options{.limit = kNodesOfAPage};
  kube::ListPages pages(client_, kube::kNodes, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list nodes for their images");
    if (clock_.Now() > deadline)
      co_return kube::Error::DeadlineExceeded("list nodes for their images");
    for (const std::string& node : page->items) {
      // One that cannot be read hides none of the others.
      if (!index.Add(node)) VLOG(1) << "a node is not valid protobuf";
    }
  }
  co_return kube::Ok();
}

}  // namespace cluster_controller
