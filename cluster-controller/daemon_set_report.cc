// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/daemon_set_report.h"

#include <glog/logging.h>

#include <optional>
#include <utility>

#include "api/architecture.h"
#include "api/names.h"
#include "api/templates.h"
#include "cluster-controller/template_key.h"
#include "kube/base/alarm.h"
#include "kube/base/join.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/types/kinds.h"
#include "kube/types/workloads.h"
#include "placement/ignored.h"
#include "placement/templates.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Result;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using kube::workloads::PodTemplateSpec;

// A DaemonSet may have a template of more than a MiB.
constexpr int kDaemonSetsOfAPage = 20;
// All DaemonSets are compared with the nodes of a page at once: some ten ms if they have the most
// that is kept.
constexpr int kNodesOfAPage = 25;

void CopyImages(const google::protobuf::RepeatedPtrField<kube::core::Container>& from,
                google::protobuf::RepeatedPtrField<kube::core::Container>& to) {
  for (const kube::core::Container& container : from) {
    kube::core::Container& image = *to.Add();
    image.set_image(container.image());
    image.set_image_pull_policy(container.image_pull_policy());
  }
}

std::string MessageOf(const std::map<std::string, std::string>& lacking) {
  constexpr size_t kShown = 4;
  std::vector<std::string> nodes;
  for (const auto& [architecture, node] : lacking)
    nodes.push_back(architecture + " (node " + node + ")");
  return "The container images lack an architecture of nodes that the DaemonSet runs on: " +
         kube::Join(nodes, kShown) +
         ". A node selector or node affinity on kubernetes.io/arch excludes such nodes";
}

}  // namespace

Pod ReportedPod(const std::string& ns, const PodTemplateSpec& pod_template) {
  Pod pod;
  pod.mutable_metadata()->set_namespace_(ns);
  const kube::core::PodSpec& spec = pod_template.spec();
  *pod.mutable_spec() = placement::NodeConstraintsOf(spec);
  CopyImages(spec.containers(), *pod.mutable_spec()->mutable_containers());
  CopyImages(spec.init_containers(), *pod.mutable_spec()->mutable_init_containers());
  for (const kube::core::Volume& volume : spec.volumes()) {
    if (!volume.source().has_image()) continue;
    const kube::core::ImageVolumeSource& image = volume.source().image();
    kube::core::ImageVolumeSource& kept =
        *pod.mutable_spec()->add_volumes()->mutable_source()->mutable_image();
    kept.set_reference(image.reference());
    kept.set_pull_policy(image.pull_policy());
  }
  *pod.mutable_spec()->mutable_image_pull_secrets() = spec.image_pull_secrets();
  return pod;
}

const api::ClusterPodPlacementConfig* DaemonSetReport::Config() const {
  bool on = config_ != nullptr && config_->DaemonSets().report &&
            !config_->metadata().has_deletion_timestamp();
  return on ? config_.get() : nullptr;
}

kube::asio::awaitable<void> DaemonSetReport::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<size_t> nodes = co_await Report();
    if (FailedWith(nodes, kube::Code::kCancelled)) break;
    kube::Duration next = kRetryReportAfter;
    if (nodes) next = kReportEvery + kReportForEachNode * static_cast<int64_t>(*nodes);
    if (!nodes) {
      LOG_EVERY_N(WARNING, 30) << "cannot report DaemonSets: " << nodes.error();
    }
    Result<> slept = co_await parts_.clock.Sleep(next);
    if (!slept) break;
  }
  // Nothing is known any more.
  reported_.clear();
  parts_.metrics.daemon_sets_lacking_architecture.Set(0);
  parts_.metrics.daemon_sets_not_compared.Set(0);
}

Async<size_t> DaemonSetReport::Report() {
  std::vector<Candidate> candidates;
  size_t left_out = 0;
  Result<> done = co_await ListDaemonSets(candidates, left_out);
  if (!done) co_return done.error();
  std::map<std::string, bool> selected;
  for (Candidate& candidate : candidates) {
    done = co_await Inspect(candidate, selected);
    if (!done) co_return done.error();
  }
  Result<size_t> nodes = co_await CompareNodes(candidates);
  if (!nodes) co_return nodes.error();
  Publish(candidates, left_out);
  co_return *nodes;
}

Async<> DaemonSetReport::ListDaemonSets(std::vector<Candidate>& candidates, size_t& left_out) {
  kube::ListOptions options{.limit = kDaemonSetsOfAPage};
  kube::ListPages pages(parts_.client, kube::kDaemonSets, std::move(options), /*protobuf=*/true);
  size_t bytes = 0;
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list DaemonSets");
    const api::ClusterPodPlacementConfig* config = Config();
    if (config == nullptr) co_return kube::Ok();
    for (const std::string& item : page->items) {
      DaemonSet daemon_set;
      // One that cannot be read hides none of the others.
      if (!kube::ParseMessage(item, daemon_set)) continue;
      const std::string& ns = daemon_set.metadata().namespace_();
      Pod whole = placement::PodOf(ns, daemon_set.spec().template_());
      bool excluded = daemon_set.metadata().labels().contains(std::string(api::kExcludeLabel)) ||
                      placement::IsIgnored(whole, parts_.operator_namespace) ||
                      placement::OptsOut(whole, config->spec.excluded_scheduler_names);
      if (excluded || daemon_set.metadata().has_deletion_timestamp()) continue;
      Candidate candidate;
      candidate.reference = kube::ReferenceTo(daemon_set);
      candidate.pod = ReportedPod(ns, daemon_set.spec().template_());
      candidate.pod.mutable_metadata()->set_name(
          TemplateKey(kReport, kube::KeyOf(daemon_set)).name);
      size_t size = candidate.pod.ByteSizeLong();
      if (size > kMaxDaemonSetBytes || bytes + size > kMaxDaemonSetsBytes ||
          candidates.size() >= kMaxDaemonSets) {
        ++left_out;
        continue;
      }
      bytes += size;
      candidates.push_back(std::move(candidate));
    }
  }
  co_return kube::Ok();
}

// Errors: kCancelled. What cannot be inspected is not known.
Async<> DaemonSetReport::Inspect(Candidate& candidate, std::map<std::string, bool>& selected) {
  const api::ClusterPodPlacementConfig* config = Config();
  if (config == nullptr) co_return kube::Ok();
  std::string ns = candidate.pod.metadata().namespace_();
  if (!selected.contains(ns)) {
    std::optional<kube::meta::LabelSelector> selector = config->spec.namespace_selector;
    Result<bool> read = co_await parts_.namespaces.IsSelected(ns, std::move(selector));
    if (FailedWith(read, kube::Code::kCancelled)) co_return read.error();
    if (!read) co_return kube::Ok();
    selected[ns] = *read;
  }
  if (!selected[ns]) {
    // As if its images were for every node.
    candidate.known = true;
    candidate.images.every = true;
    co_return kube::Ok();
  }
  kube::TimePoint deadline = parts_.clock.Now() + kInspectDaemonSetWithin;
  kube::Alarm alarm(parts_.clock, [this] { woken_.NotifyAll(); });
  auto executor = co_await kube::asio::this_coro::executor;
  alarm.Set(executor, deadline);
  kube::ObjectKey key = kube::KeyOf(candidate.pod);
  while (true) {
    // A result may be there before the call returns.
    uint64_t wakes = wakes_;
    auto images = co_await parts_.inspector.Inspect(candidate.pod);
    if (images && *images) {
      candidate.known = true;
      candidate.images = std::move((*images)->platforms);
    }
    if (FailedWith(images, kube::Code::kCancelled)) co_return images.error();
    if (!images || *images) break;
    Result<> waited = kube::Ok();
    while (waited && wakes == wakes_ && parts_.clock.Now() < deadline)
      waited = co_await woken_.Wait();
    if (!waited) {
      parts_.inspector.Forget(key);
      co_return waited.error();
    }
    if (parts_.clock.Now() >= deadline) break;
  }
  parts_.inspector.Forget(key);
  co_return kube::Ok();
}

Async<size_t> DaemonSetReport::CompareNodes(std::vector<Candidate>& candidates) {
  size_t read = 0;
  if (candidates.empty()) co_return read;
  kube::ListOptions options{.limit = kNodesOfAPage};
  kube::ListPages pages(parts_.client, kube::kNodes, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list nodes for DaemonSets");
    for (const std::string& item : page->items) {
      ++read;
      Result<placement::NodeView> node = placement::ParseNode(item);
      if (!node) continue;
      std::string architecture = node->Label(api::kArchLabel);
      if (!api::IsArchitectureName(architecture)) continue;
      for (Candidate& candidate : candidates) {
        if (!candidate.known || placement::SupportNode(candidate.images, *node) ||
            !placement::RunsOn(candidate.pod.spec(), *node))
          continue;
        if (candidate.lacking.size() < placement::kMaxArchitectures)
          candidate.lacking.try_emplace(architecture, node->name);
      }
    }
  }
  co_return read;
}

void DaemonSetReport::Publish(const std::vector<Candidate>& candidates, size_t left_out) {
  std::map<std::string, Reported> reported;
  size_t not_compared = left_out;
  for (const Candidate& candidate : candidates) {
    if (!candidate.known) ++not_compared;
    if (candidate.lacking.empty()) continue;
    Reported now{MessageOf(candidate.lacking), parts_.clock.Now()};
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
  parts_.metrics.daemon_sets_lacking_architecture.Set(static_cast<double>(reported_.size()));
  parts_.metrics.daemon_sets_not_compared.Set(static_cast<double>(not_compared));
}

}  // namespace cluster_controller
