// SPDX-License-Identifier: Apache-2.0
#include "templates/daemon_set_report.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "api/templates.h"
#include "kube/base/alarm.h"
#include "kube/base/join.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/types/kinds.h"
#include "kube/types/workloads.h"
#include "placement/daemon_nodes.h"
#include "placement/ignored.h"
#include "placement/templates.h"
#include "templates/template_key.h"
#include "templates/workload_watch.h"

namespace templates {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Result;
using kube::core::Pod;
using kube::workloads::DaemonSet;

// A DaemonSet may have a template of more than a MiB.
constexpr int kDaemonSetsOfAPage = 20;
// All DaemonSets are compared with the nodes of a page at once: some ten ms if they have the most
// that is kept.
constexpr int kNodesOfAPage = 25;

size_t CountPlatforms(const placement::CommonPlatforms& images) {
  size_t count = 0;
  for (const auto& [os, architectures] : images.by_os) count += architectures.size();
  return count;
}

}  // namespace

std::string DaemonSetReport::MessageOf(const Candidate& candidate) {
  auto shown = [](const std::map<std::string, std::string>& platforms) {
    std::vector<std::string> nodes;
    for (const auto& [platform, node] : platforms)
      nodes.push_back(platform + " (node " + node + ")");
    return kube::Join(nodes, kShown);
  };
  std::string message;
  if (!candidate.lacking.empty()) {
    message =
        "The container images are not for the platforms of nodes that the DaemonSet runs on: " +
        shown(candidate.lacking) +
        ". A node selector or node affinity on kubernetes.io/os and kubernetes.io/arch "
        "excludes such nodes";
  }
  if (!candidate.excluded.empty()) {
    message += (message.empty() ? "" : ". ") +
               ("The DaemonSet does not run on nodes that its images are for: " +
                shown(candidate.excluded)) +
               ". For its first images, this operator required " +
               placement::Join(candidate.required) +
               " in the pod template; the node affinity on kubernetes.io/arch can be changed there";
  }
  return message;
}

const api::ClusterPodPlacementConfig* DaemonSetReport::Config() const {
  return config_ != nullptr && config_->DaemonSets().report ? config_.get() : nullptr;
}

void DaemonSetReport::Wake(const ObjectKey& key) {
  if (!inspections_.contains(key)) return;
  due_.insert(key);
  woken_.NotifyAll();
}

void DaemonSetReport::Clear() {
  reported_.clear();
  metrics_.daemon_sets_lacking_architecture.Set(0);
  metrics_.daemon_sets_not_compared.Set(0);
}

kube::asio::awaitable<void> DaemonSetReport::Run() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  kube::Alarm alarm(parts_.clock, [this] { woken_.NotifyAll(); });
  kube::Duration retry = kRetryReportAfter;
  Result<> waited = kube::Ok();
  while (waited) {
    if (Config() == nullptr) {
      Clear();
      retry = kRetryReportAfter;
      waited = co_await woken_.Wait();
      continue;
    }
    Result<size_t> nodes = co_await Report();
    if (FailedWith(nodes, kube::Code::kCancelled)) break;
    kube::Duration next = retry;
    if (nodes) {
      next = kReportEvery + kReportForEachNode * static_cast<int64_t>(*nodes);
      retry = kRetryReportAfter;
    } else {
      LOG(WARNING) << "cannot report DaemonSets: " << nodes.error();
      retry = std::min<kube::Duration>(2 * retry, kReportEvery);
    }
    const kube::TimePoint due = parts_.clock.Now() + next;
    alarm.Set(executor, due);
    while (waited && Config() != nullptr && parts_.clock.Now() < due)
      waited = co_await woken_.Wait();
  }
  Clear();
}

Async<size_t> DaemonSetReport::Report() {
  // A right that is missing is noticed before images are inspected.
  kube::ListOptions one_node{.limit = 1};
  kube::ListPages first(parts_.client, kube::kNodes, std::move(one_node), /*protobuf=*/true);
  Result<kube::RawList> node = co_await first.Next();
  if (!node) co_return node.error().Prefix("list nodes for DaemonSets");

  std::vector<Candidate> candidates;
  size_t left_out = 0;
  Result<> done = co_await ListDaemonSets(candidates, left_out);
  if (!done) co_return done.error();
  done = co_await InspectAll(candidates);
  if (!done) co_return done.error();
  Result<size_t> nodes = co_await CompareNodes(candidates);
  if (!nodes) co_return nodes.error();
  if (Config() != nullptr) Publish(candidates, left_out);
  co_return *nodes;
}

Async<> DaemonSetReport::ListDaemonSets(std::vector<Candidate>& candidates, size_t& left_out) {
  struct Kept {
    size_t count = 0;
    size_t bytes = 0;
    bool read = false;
    std::optional<bool> selected = std::nullopt;
  };
  kube::ListOptions options{.limit = kDaemonSetsOfAPage};
  kube::ListPages pages(parts_.client, kube::kDaemonSets, std::move(options), /*protobuf=*/true);
  Kept all;
  std::map<std::string, Kept> by_namespace;
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list DaemonSets");
    if (Config() == nullptr) co_return kube::Ok();
    const std::shared_ptr<const api::ClusterPodPlacementConfig> config = config_;
    for (const std::string& item : page->items) {
      if (item.size() > kMaxWorkloadBytes) {
        ++left_out;
        continue;
      }
      DaemonSet daemon_set;
      // One that cannot be read hides none of the others.
      if (!kube::ParseMessage(item, daemon_set)) continue;
      const std::string& ns = daemon_set.metadata().namespace_();
      Pod pod = placement::PodOf(ns, daemon_set.spec().template_());
      bool excluded = daemon_set.metadata().labels().contains(std::string(api::kExcludeLabel)) ||
                      placement::IsIgnored(pod, parts_.operator_namespace) ||
                      placement::OptsOut(pod, config->spec.excluded_scheduler_names);
      if (excluded || daemon_set.metadata().has_deletion_timestamp()) continue;
      Kept& own = by_namespace[ns];
      if (!std::exchange(own.read, true)) {
        std::optional<kube::meta::LabelSelector> selector = config->spec.namespace_selector;
        Result<std::optional<bool>> selected =
            co_await parts_.namespaces.Decide(ns, std::move(selector));
        if (FailedWith(selected, kube::Code::kCancelled)) co_return selected.error();
        if (selected) own.selected = *selected;
      }
      if (!own.selected) ++left_out;
      if (!own.selected.value_or(false)) continue;
      Candidate candidate;
      candidate.reference = kube::ReferenceTo(daemon_set);
      candidate.key = TemplateKey(kReport, kube::KeyOf(daemon_set));
      pod.mutable_metadata()->set_name(candidate.key.name);
      pod.mutable_metadata()->clear_labels();
      candidate.required = placement::RequiredInTemplate(daemon_set.metadata());
      size_t size = pod.ByteSizeLong() + placement::Join(candidate.required).size();
      const bool fits = size <= kMaxDaemonSetBytes && own.bytes + size <= kMaxBytesOfNamespace &&
                        own.count < kMaxDaemonSetsOfNamespace && all.bytes + size <= kMaxBytes &&
                        all.count < kMaxDaemonSets;
      const bool always =
          own.count < kAlwaysOfNamespace && own.bytes + size <= kAlwaysBytesOfNamespace;
      if (!fits && !always) {
        ++left_out;
        continue;
      }
      candidate.pod = pod.SerializeAsString();
      candidate.rank = own.count++;
      own.bytes += size;
      ++all.count;
      all.bytes += size;
      candidates.push_back(std::move(candidate));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [this](const Candidate& a, const Candidate& b) {
                     if (a.rank != b.rank) return a.rank < b.rank;
                     return a.key.ns >= begin_ && b.key.ns < begin_;
                   });
  co_return kube::Ok();
}

Async<> DaemonSetReport::InspectAll(std::vector<Candidate>& candidates) {
  auto executor = co_await kube::asio::this_coro::executor;
  kube::Alarm alarm(parts_.clock, [this] { woken_.NotifyAll(); });
  const kube::TimePoint end = parts_.clock.Now() + kInspectAllWithin;
  size_t next = 0;
  Result<> done = kube::Ok();
  while (done) {
    kube::TimePoint now = parts_.clock.Now();
    while (inspections_.size() < kInspectedAtATime && next < candidates.size() && now < end) {
      Candidate& candidate = candidates[next++];
      kube::TimePoint until = std::min(end, now + kInspectDaemonSetWithin);
      inspections_[candidate.key] = {&candidate, until};
      due_.insert(candidate.key);
    }
    kube::TimePoint first = end;
    for (auto inspection = inspections_.begin(); inspection != inspections_.end();) {
      auto current = inspection++;
      kube::TimePoint until = current->second.until;
      first = std::min(first, until);
      if (now < until) continue;
      parts_.inspector.Forget(current->first);
      due_.erase(current->first);
      inspections_.erase(current);
    }
    if (inspections_.empty() && (next == candidates.size() || now >= end)) break;
    if (due_.empty()) {
      if (now < first) {
        alarm.Set(executor, first);
        done = co_await woken_.Wait();
      }
      continue;
    }
    ObjectKey key = *due_.begin();
    due_.erase(due_.begin());
    auto inspection = inspections_.find(key);
    Result<bool> ended = co_await Inspect(*inspection->second.candidate);
    if (!ended) {
      done = ended.error();
    } else if (*ended) {
      parts_.inspector.Forget(key);
      due_.erase(key);
      inspections_.erase(key);
    }
  }
  for (const auto& [key, inspection] : inspections_) parts_.inspector.Forget(key);
  inspections_.clear();
  due_.clear();
  begin_ = next < candidates.size() ? candidates[next].key.ns : "";
  co_return done;
}

Async<bool> DaemonSetReport::Inspect(Candidate& candidate) {
  if (Config() == nullptr) co_return true;
  Pod pod;
  if (!kube::ParseMessage(candidate.pod, pod)) co_return true;
  auto images = co_await parts_.inspector.Inspect(pod);
  if (FailedWith(images, kube::Code::kCancelled)) co_return images.error();
  if (images && !*images) co_return false;
  // That an image is not on a node does not say that it is not for the node's platform.
  if (!images || (*images)->from_nodes || CountPlatforms((*images)->platforms) > kMaxPlatforms)
    co_return true;
  candidate.images = std::move((*images)->platforms);
  candidate.images->windows_builds.clear();
  candidate.pod = placement::NodeConstraintsOf(pod.spec()).SerializeAsString();
  co_return true;
}

Async<size_t> DaemonSetReport::CompareNodes(std::vector<Candidate>& candidates) {
  size_t read = 0;
  if (candidates.empty()) co_return read;
  kube::ListOptions options{.limit = kNodesOfAPage};
  kube::ListPages pages(parts_.client, kube::kNodes, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list nodes for DaemonSets");
    std::vector<placement::NodeView> nodes;
    for (const std::string& item : page->items) {
      ++read;
      Result<placement::NodeView> node = placement::ParseNode(item);
      if (node && !placement::PlatformOf(*node).empty()) nodes.push_back(std::move(*node));
    }
    for (Candidate& candidate : candidates) {
      kube::core::PodSpec spec;
      if (!candidate.images || !kube::ParseMessage(candidate.pod, spec)) continue;
      kube::core::PodSpec unrestricted;
      if (!candidate.required.empty()) {
        unrestricted = spec;
        placement::RemoveRequirement(candidate.required, unrestricted);
      }
      for (const placement::NodeView& node : nodes)
        CompareNode(node, spec, unrestricted, candidate);
    }
  }
  co_return read;
}

void DaemonSetReport::CompareNode(const placement::NodeView& node, const kube::core::PodSpec& spec,
                                  const kube::core::PodSpec& unrestricted, Candidate& candidate) {
  if (!placement::SupportNode(*candidate.images, node)) {
    if (candidate.lacking.size() <= kShown && placement::RunsOn(spec, node))
      candidate.lacking.try_emplace(placement::PlatformOf(node), node.name);
  } else if (!candidate.required.empty() && candidate.excluded.size() <= kShown &&
             !placement::RunsOn(spec, node) && placement::RunsOn(unrestricted, node)) {
    candidate.excluded.try_emplace(placement::PlatformOf(node), node.name);
  }
}

void DaemonSetReport::Publish(const std::vector<Candidate>& candidates, size_t left_out) {
  std::map<std::string, Reported> reported;
  size_t not_compared = left_out;
  size_t lacking = 0;
  for (const Candidate& candidate : candidates) {
    if (!candidate.images) ++not_compared;
    if (!candidate.lacking.empty()) ++lacking;
    if (candidate.lacking.empty() && candidate.excluded.empty()) continue;
    Reported now{MessageOf(candidate), parts_.clock.Now()};
    auto before = reported_.find(candidate.reference.uid());
    if (before != reported_.end() && before->second.message == now.message &&
        now.at < before->second.at + kRepeatReportAfter) {
      now = before->second;
    } else {
      parts_.events.Record(candidate.reference, /*warning=*/true,
                           api::kReasonDaemonSetLacksArchitecture, now.message);
    }
    reported.emplace(candidate.reference.uid(), std::move(now));
  }
  reported_ = std::move(reported);
  metrics_.daemon_sets_lacking_architecture.Set(static_cast<double>(lacking));
  metrics_.daemon_sets_not_compared.Set(static_cast<double>(not_compared));
}

}  // namespace templates
