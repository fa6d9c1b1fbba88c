// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/node_architectures.h"

#include <utility>

#include "exec-format/node_architecture.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace exec_format {

kube::Async<std::string> NodeArchitectures::Read(std::string node) {
  Kept* kept = kept_.Find(node);
  if (kept != nullptr && clock_.Now() < kept->until) co_return kept->architecture;
  kube::ListOptions options{.field_selector = "metadata.name=" + node, .limit = 1};
  kube::ListPages pages(metadata_, kube::kNodes, std::move(options), /*protobuf=*/true);
  kube::Result<kube::RawList> page = co_await pages.Next();
  if (!page) co_return page.error().Prefix("read node " + node);
  std::string architecture;
  for (const std::string& item : page->items) {
    kube::meta::PartialObject object;
    if (!kube::ParseMessage(item, object)) continue;
    architecture = ArchitectureOf(object);
  }
  if (!architecture.empty()) kept_.Put(node, Kept{architecture, clock_.Now() + kNodeLifetime});
  co_return architecture;
}

}  // namespace exec_format
