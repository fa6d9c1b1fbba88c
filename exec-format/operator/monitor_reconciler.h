// SPDX-License-Identifier: Apache-2.0
// MonitorReconciler: deploys the monitors, or removes them. There is one request. The DaemonSet is
// read, not watched: a watch would cost memory without the plugin.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec-format/operator/monitor_metrics.h"
#include "exec-format/operator/monitor_status.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/controller/reconciler.h"
#include "operator/config_store.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/status/feature_condition.h"

namespace exec_format {

// The DaemonSet is read again: while it is rolled out, and then.
inline constexpr std::chrono::seconds kWhileRollingOut{10};
inline constexpr std::chrono::seconds kThen{60};
// Pods and events that are read for the reasons: a cluster may have thousands of nodes.
inline constexpr int kMaxRead = 100;

class MonitorReconciler final : public kube::Reconciler {
 public:
  // The references outlive this.
  MonitorReconciler(kube::Client& client, const operator_::OperandOptions& options,
                    const operator_::ConfigStore& configs, operator_::OperandStore& store,
                    const MonitorMetrics& metrics);

  // Called when everything has been removed. Before the first Reconcile().
  void OnRemoved(std::function<void()> listener) { on_removed_ = std::move(listener); }
  // Called when state() has changed, or is known. Before the first Reconcile().
  void OnReported(std::function<void()> listener) { on_reported_ = std::move(listener); }
  // Whether state() is known.
  bool known() const { return known_; }
  // nullopt: the plugin is not enabled.
  const std::optional<operator_::FeatureCondition::State>& state() const { return state_; }
  // Whether an object of the monitors is left.
  bool Left() const;

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  using State = operator_::FeatureCondition::State;

  // Returns: whether the monitors work on all nodes. Errors: the API server's.
  kube::Async<bool> Serve(const std::string& log);
  // Whether objects can be created in the namespace, which the first of them is. Errors: the API
  // server's.
  kube::Async<bool> NamespaceIsReady();
  // Why monitors are not available. Errors: the API server's.
  kube::Async<std::vector<std::string>> Reasons();
  // At most kMaxRead of them.
  kube::Async<std::vector<kube::Unstructured>> ReadSome(kube::Resource resource,
                                                        kube::ListOptions which);
  kube::Async<kube::Outcome> Remove(const std::string& log);
  kube::Async<> DeleteFindings();
  void Report(std::optional<State> state);

  kube::Client& client_;
  const operator_::OperandOptions& options_;
  const operator_::ConfigStore& configs_;
  operator_::OperandStore& store_;
  const MonitorMetrics& metrics_;
  std::function<void()> on_removed_;
  std::function<void()> on_reported_;
  bool known_ = false;
  bool removing_ = false;
  std::optional<State> state_;
};

}  // namespace exec_format
