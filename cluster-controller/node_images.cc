// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/node_images.h"

#include <glog/logging.h>

#include <memory>
#include <utility>

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

Async<placement::SharedPlatforms> NodeImages::Find(std::string image) {
  Result<inspection::Reference> reference = inspection::Reference::Parse(image);
  if (!reference) co_return reference.error();
  if (clock_.Now() >= next_list_) {
    Result<> read = co_await read_.Call();
    if (FailedWith(read, kube::Code::kCancelled)) co_return read.error();
  }
  if (!index_) co_return error_;
  co_return std::make_shared<const placement::ImagePlatforms>(index_->Find(*reference));
}

Async<> NodeImages::Read() {
  // Another call may have read them while this one waited.
  if (clock_.Now() < next_list_) co_return kube::Ok();
  Result<> listed = co_await List();
  if (listed || listed.error().code() == kube::Code::kCancelled) co_return listed;
  LOG_EVERY_N(WARNING, 100) << listed.error();
  error_ = listed.error();
  next_list_ = clock_.Now() + kListNodesEvery;
  co_return listed;
}

Async<> NodeImages::List() {
  NodeImageIndex index(kMaxNodeImageBytes);
  kube::ListOptions options{.limit = kNodesOfAPage};
  kube::ListPages pages(client_, kube::kNodes, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list nodes for their images");
    for (const std::string& node : page->items) {
      // One that cannot be read hides none of the others.
      if (!index.Add(node)) VLOG(1) << "a node is not valid protobuf";
    }
  }
  if (index.left_out() > 0) {
    LOG_FIRST_N(WARNING, 1) << index.left_out() << " names of images of " << index.nodes()
                            << " nodes are left out: more than " << kMaxNodeImageBytes << " bytes";
  }
  next_list_ = clock_.Now() + kListNodesEvery + kForEachNode * static_cast<int>(index.nodes());
  index_ = std::move(index);
  co_return kube::Ok();
}

}  // namespace cluster_controller
