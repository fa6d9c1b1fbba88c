// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/read_report.h"

#include <optional>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "plugin/read/read_namespace.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Result;

Async<> ReadNodes(Client& client, ReportBuilder& builder) {
  kube::ListPages pages(client, kube::ResourceOf<kube::core::Node>::value, {}, /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      Result<placement::NodeView> node = placement::ParseNode(item);
      Result<Amount> allocatable = AllocatableOf(item);
      if (node && allocatable) builder.AddNode(*node, *allocatable);
    }
  }
  co_return kube::Ok();
}

// `newer_for`: the architecture for which newer images are looked for; nullopt: for none.
Async<> AddPod(const std::string& item, const KnownImages& known, ImageFinder& finder,
               const std::optional<std::string>& newer_for, ReportBuilder& builder) {
  auto pod = kube::DecodeBare<kube::core::Pod>(item);
  if (!pod) co_return pod.error();
  Result<Amount> requests = RequestsOf(item);
  if (!requests) co_return requests.error();
  auto images = co_await finder.Find(*pod, known);
  if (!images) co_return images.error();
  for (PodImage& image : *images) {
    if (!newer_for || image.platforms == nullptr || Supports(image, *newer_for)) continue;
    std::string name = image.image, architecture = *newer_for;
    auto newer = co_await finder.FindNewer(*pod, std::move(name), std::move(architecture));
    if (!newer) co_return newer.error();
    image.newer = std::move(*newer);
  }
  builder.AddPod(*pod, *requests, *images);
  co_return kube::Ok();
}

}  // namespace

Async<Report> ReadReport(Client& client, ImageFinder& finder, ReportQuestion question) {
  std::optional<std::string> newer_for;
  if (question.finds_newer) newer_for = question.options.architecture;
  ReportBuilder builder(std::move(question.options));
  std::vector<Unread> unread;
  Result<> nodes = co_await ReadNodes(client, builder);
  if (!nodes) unread.push_back({"nodes", nodes.error().message()});
  auto known = co_await ReadKnownImages(client, std::move(question.operator_namespace));
  if (!known) unread.push_back({"what is known of images", known.error().message()});
  const KnownImages facts = known ? std::move(*known) : KnownImages();

  kube::ListOptions options{.ns = std::move(question.ns),
                            .label_selector = std::move(question.label_selector)};
  kube::ListPages pages(client, kube::kPods, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      Result<> added = co_await AddPod(item, facts, finder, newer_for, builder);
      if (!added) co_return added.error();
    }
  }
  Report report = builder.Build();
  unread.insert(unread.end(), finder.unread().begin(), finder.unread().end());
  report.unread = std::move(unread);
  co_return report;
}

}  // namespace plugin
