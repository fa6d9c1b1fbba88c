// SPDX-License-Identifier: Apache-2.0
#include "operator/node_taints/node_taints_feature.h"

#include <glog/logging.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/node_taints/architecture_taint.h"
#include "operator/status/feature_condition.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Outcome;
using kube::Result;

// True if taints that pods do not tolerate are worth a suggestion.
bool IsOff(const std::optional<api::ClusterPodPlacementConfig>& config) {
  if (!config || config->metadata().has_deletion_timestamp()) return false;
  const api::ArchitectureTolerations* plugin = config->Tolerations();
  return plugin == nullptr || !plugin->enabled;
}

struct Nodes {
  size_t read = 0;
  std::optional<ArchitectureTaint> taint;
};

class NodeTaintsTerm final : public FeatureTerm {
 public:
  explicit NodeTaintsTerm(FeatureContext context) : context_(std::move(context)) {}

  // FeatureTerm
  void Start(kube::TaskGroup&) override {}
  bool Owns(const kube::Unstructured&) const override { return false; }
  std::string Remains() const override { return ""; }
  std::vector<FeatureCondition> Conditions() const override {
    if (!known_) return {};
    FeatureCondition condition{.type = kArchitectureTaintsTolerated, .state = {}};
    if (taint_) {
      condition.state = {
          .status = false,
          .reason = "PluginDisabled",
          .message = "node " + taint_->node + " has the taint " + taint_->ToString() +
                     ", and further nodes may have such taints: pods are not scheduled there "
                     "unless they tolerate it. With spec.plugins.architectureTolerations, pods "
                     "tolerate the taints of the architectures that their images support"};
    }
    return {std::move(condition)};
  }

  // Reconciler
  Async<Outcome> Reconcile(kube::Request request) override {
    if (!IsOff(context_.configs.Cluster())) {
      due_.reset();
      Know(std::nullopt);
      co_return Outcome::Done();
    }
    kube::TimePoint now = context_.clock.Now();
    if (due_ && now < *due_) co_return After(*due_ - now);
    Result<Nodes> nodes = co_await Look();
    bool forbidden = FailedWith(nodes, kube::Code::kPermissionDenied);
    if (!nodes && !forbidden) co_return nodes.error().Prefix("list nodes");
    kube::Duration next = kListNodesEvery;
    if (nodes) {
      next += kForEachNode * static_cast<int64_t>(nodes->read);
      // The config may have changed meanwhile; its event is the next request.
      Know(std::move(nodes->taint));
    } else {
      // An administrator may take the right away: then nothing is suggested.
      Know(std::nullopt);
      LOG_FIRST_N(WARNING, 1) << request.log
                              << " does not look at the taints of nodes: " << nodes.error();
    }
    due_ = now + next;
    co_return After(next);
  }

 private:
  static Outcome After(kube::Duration delay) {
    return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(delay));
  }

  void Know(std::optional<ArchitectureTaint> taint) {
    bool changed = !known_ || taint != taint_;
    known_ = true;
    taint_ = std::move(taint);
    if (changed) context_.reported();
  }

  Async<Nodes> Look() {
    kube::ListOptions options{.limit = kNodesOfAPage};
    kube::ListPages pages(context_.client, kube::kNodes, std::move(options), /*protobuf=*/true);
    Nodes nodes;
    while (pages.more()) {
      Result<kube::RawList> page = co_await pages.Next();
      if (!page) co_return page.error();
      for (const std::string& node : page->items) {
        ++nodes.read;
        Result<std::optional<ArchitectureTaint>> taint = FindArchitectureTaint(node);
        // One that cannot be read hides none of the others.
        if (!taint || !*taint) continue;
        nodes.taint = std::move(*taint);
        co_return nodes;
      }
    }
    co_return nodes;
  }

  FeatureContext context_;
  // When to list again; nullopt: at once.
  std::optional<kube::TimePoint> due_;
  // Whether `taint_` is known.
  bool known_ = false;
  std::optional<ArchitectureTaint> taint_;
};

class NodeTaintsFeature final : public Feature {
 public:
  // Feature
  std::string_view name() const override { return "node-taints"; }
  std::vector<std::string> Deployments() const override { return {}; }
  std::vector<ValidatedKind> ValidatedKinds() const override { return {}; }
  void AddTo(kube::HttpsServer&) override {}
  std::unique_ptr<FeatureTerm> NewTerm(FeatureContext context) override {
    return std::make_unique<NodeTaintsTerm>(std::move(context));
  }
};

}  // namespace

std::unique_ptr<Feature> NewNodeTaintsFeature() { return std::make_unique<NodeTaintsFeature>(); }

}  // namespace operator_
