// SPDX-License-Identifier: Apache-2.0
// Leader: the work of the replica that holds the Lease: its watches, inspection and reconciliation,
// and which event enqueues which pods.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/excluded_namespaces.h"
#include "cluster-controller/ability.h"
#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/image_access.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/nodes/node_images.h"
#include "cluster-controller/nodes/offered_architectures.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pod_additions.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pod_reconciler.h"
#include "cluster-controller/pod_tokens.h"
#include "cluster-controller/shard_watch.h"
#include "cluster-controller/term_feature.h"
#include "inspection/cloud/cloud_options.h"
#include "inspection/config/node_files.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/large_pods.h"
#include "kube/controller/leadership.h"
#include "kube/types/apps.pb.h"
#include "kube/types/coordination.pb.h"
#include "kube/types/core.pb.h"
#include "rules/asker.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {

inline constexpr char kController[] = "pod-placement";

struct LeaderOptions {
  // The operator's namespace.
  std::string ns;
  // Concurrent reconciles.
  int workers = 16;
  // Namespaces whose pods are placed only if they are labelled for it.
  api::ExcludedNamespaces excluded_namespaces;
  // Files of the node.
  inspection::NodeFilePaths files;
  // Registries of clouds that are read with the controller's own identity.
  inspection::CloudOptions cloud;
  // Reads the images.
  NewInspector new_inspector = inspection::NewImageInspector;
  // What features add to pods.
  std::vector<NewPodAdditions> additions;
  // What features do beside.
  std::vector<NewTermFeature> features;
};

class Leader;

// The parts that outlive a term of leadership.
struct LeaderParts {
  // The Leader of the current term; nullptr between terms.
  Leader*& current;
  kube::Executor executor;
  kube::Client& client;
  kube::Clock& clock;
  kube::EventRecorder& events;
  KnownPods& known;
  ShardWatch& shards;
  Ability& ability;
  PlacementMetrics& metrics;
  kube::ControllerObserver& observer;
};

class Leader final : public kube::Term {
 public:
  // All its tasks run in `tasks`.
  Leader(LeaderParts parts, LeaderOptions options, kube::TaskGroup& tasks);
  ~Leader() override;

  // Term
  boost::asio::awaitable<void> Run(kube::TaskGroup& tasks) override;

  // Whether pods wait for a worker.
  bool busy() { return controller_.queue().size() > 0; }

 private:
  void OnPod(kube::EventType type, const kube::ObjectKey& pod);
  // Without the watches of features, Leases and Deployments: without those, pods are placed, too.
  WatchState Watches() const;
  // Something is there that the pod, or an object of a feature, waits for.
  void Wake(const kube::ObjectKey& key);

  LeaderParts parts_;

  // Watches.
  kube::Informer<kube::core::Pod> pods_;
  kube::Informer<kube::coordination::Lease> leases_;
  kube::Informer<kube::apps::Deployment> deployments_;

  // Inspection and reconciliation.
  PodTokens pod_tokens_;
  ImageAccess images_;
  NodeImages node_images_;
  InspectionQueue queue_;
  ImageFindings findings_;
  PodInspector inspector_;
  OfferedArchitectures offered_;
  watches::FreshConfigs configs_;
  rules::Asker rules_;
  PodAdditionsList additions_;
  NamespaceSelection namespaces_;
  kube::LargePods large_pods_;
  PodReconciler reconciler_;
  NoticeForbidden notice_;
  kube::Controller controller_;
  std::vector<std::unique_ptr<TermFeature>> features_;
};

}  // namespace cluster_controller
