// SPDX-License-Identifier: Apache-2.0
#include "console/answers/waiting.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "console/answers/bounded_lines.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/surroundings.h"
#include "plugin/read/read_configurations.h"

namespace console {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;

// What the largest page of a list has, 5,000 pods, with usual names.
constexpr size_t kMaxBytes = 4 * 1024 * 1024;
// Of a text that contains what others wrote, such as an error of a registry.
constexpr size_t kMaxText = 512;
constexpr char kWithoutNode[] = "status.phase=Pending,spec.nodeName=";

std::string Cut(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + "…";
  return text;
}

Json LineOf(const kube::core::Pod& pod, plugin::Cause cause) {
  Json line = {{"namespace", pod.metadata().namespace_()},
               {"name", pod.metadata().name()},
               {"created", kube::FormatTime(kube::WallTime(std::chrono::seconds(
                               pod.metadata().creation_timestamp().seconds())))},
               {"gates", Json::array()}};
  for (const auto& gate : pod.spec().scheduling_gates()) line["gates"].push_back(Cut(gate.name()));
  if (cause.name.empty()) return line;
  cause.why = Cut(std::move(cause.why));
  cause.next = Cut(std::move(cause.next));
  line["cause"] = plugin::AsJson(cause);
  return line;
}

}  // namespace

Async<std::string> AnswerWaiting(const Question& question) {
  Result<std::string> ns = question.query.Namespace();
  if (!ns) co_return ns.error();
  BoundedLines pods(BudgetFor(kMaxBytes, *ns));
  std::vector<plugin::Unread> unread;
  std::string of = *ns;
  auto configurations = co_await plugin::ReadConfigurations(question.client, std::move(of), unread);
  if (!configurations) co_return configurations.error();
  plugin::Surroundings surroundings({.cluster_config = std::move(configurations->cluster),
                                     .has_no_cluster_config = configurations->has_no_cluster,
                                     .configs = std::move(configurations->of_namespace)});

  const kube::WallTime now = question.clock.WallNow();
  kube::ListOptions options{.ns = std::move(*ns), .field_selector = kWithoutNode};
  kube::ListPages pages(question.client, kube::kPods, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      auto pod = kube::DecodeBare<kube::core::Pod>(item);
      if (!pod) co_return pod.error();
      const std::string& of_pod = pod->metadata().namespace_();
      const plugin::PodEvidence evidence{
          .now = now, .pod = *pod, .around = surroundings.Of(of_pod)};
      pods.Add(of_pod, LineOf(*pod, plugin::FindCause(evidence)));
    }
  }
  const Json rest = {{"now", kube::FormatTime(now)},
                     {"leftOut", pods.left_out()},
                     {"unread", plugin::AsJson(unread)}};
  co_return WithMember(kube::DumpJson(rest), "pods", pods.Text());
}

}  // namespace console
