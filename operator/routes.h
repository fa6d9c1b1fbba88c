// SPDX-License-Identifier: Apache-2.0
// Routes: which event enqueues which requests of the leader's controllers. leader.cc detects the
// events; this table is all that is done about them.
#pragma once

#include <string_view>

#include "operator/objects/gating_policies.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {

enum class Event {
  kStart,  // everything is known, and the controllers start

  // Events of a namespace.
  kConfig,         // a PodPlacementConfig was added, changed or deleted
  kConfigDeleted,  // also: a PodPlacementConfig was deleted
  kNamespace,      // a namespace with a PodPlacementConfig was changed
  kUpgradeTurn,    // its shard may be upgraded
  kShardProven,    // the API server gates its pods by policy
  kShardReach,     // whether the API server can call its webhook
  kShardObject,    // an object of its shard was added, changed or deleted

  // Events of the cluster.
  kLastConfigDeleted,  // no PodPlacementConfig is left
  kGated,              // ConfigStore::PreferringNamespaces() or AnyGatedByPolicy() has changed
  kClusterConfig,      // the ClusterPodPlacementConfig was added, changed or deleted
  kGatingSpec,         // also: whether it asks for gating by policy
  kShardSpec,          // also: what concerns the shards
  kGatingSupport,      // whether the API server can gate by policy
  kGatingProofAsked,   // a scope waits for the proof that the API server gates by policy
  kKnownImages,        // with which images a policy places pods
  kClusterProven,      // the API server gates the cluster's pods by policy
  kProbeFollowed,      // there are more webhooks to probe
  kClusterReach,       // whether the API server can call the cluster's webhook
  kUpgradeProgress,    // of the shards
  kFeatureRemoved,     // FeatureTerm::Remains() is empty
  kFeatureReported,    // FeatureTerm::Conditions() have changed
  kOwnWebhooks,        // the converted CRD, or the CA bundle of the operator's own webhooks
  kValidation,         // the validating webhook configuration
  kGatingProbe,        // the policy or the binding of the probe
  kClusterObject,      // another object of the cluster's operands
};

// Requests of one controller.
enum class Target {
  kShard,
  kAllShards,
  kCluster,
  kGating,
  kProbes,
  kFeatures,
  kOwnWebhooks,
  kAnnouncements
};

enum class Pace {
  kAtOnce,
  kPaced,   // by pacer.h
  kGating,  // by pacer.h, sooner: a review waits for it (webhooks/preference_gate.h)
  kReport,  // after LeaderOptions::upgrade_report
};

struct Route {
  Event event;
  Target target;
  Pace pace = Pace::kAtOnce;
};

inline constexpr Route kRoutes[] = {
    {Event::kStart, Target::kAllShards},
    {Event::kStart, Target::kCluster},
    {Event::kStart, Target::kGating},
    {Event::kStart, Target::kFeatures},
    {Event::kStart, Target::kOwnWebhooks},
    {Event::kStart, Target::kAnnouncements},

    {Event::kConfig, Target::kShard},
    {Event::kConfigDeleted, Target::kAnnouncements},
    {Event::kNamespace, Target::kShard, Pace::kPaced},
    {Event::kUpgradeTurn, Target::kShard},
    {Event::kShardProven, Target::kShard},
    {Event::kShardReach, Target::kShard},
    {Event::kShardObject, Target::kShard, Pace::kPaced},

    // The deletion of the ClusterPodPlacementConfig waits for that of the last PodPlacementConfig.
    {Event::kLastConfigDeleted, Target::kCluster},
    {Event::kGated, Target::kCluster, Pace::kGating},
    {Event::kClusterConfig, Target::kCluster},
    {Event::kClusterConfig, Target::kFeatures},
    {Event::kGatingSpec, Target::kGating},
    {Event::kShardSpec, Target::kAllShards},
    {Event::kGatingSupport, Target::kCluster},
    {Event::kGatingSupport, Target::kAllShards},
    {Event::kGatingProofAsked, Target::kGating},
    {Event::kKnownImages, Target::kCluster},
    {Event::kClusterProven, Target::kCluster},
    {Event::kProbeFollowed, Target::kProbes},
    {Event::kClusterReach, Target::kCluster},
    {Event::kUpgradeProgress, Target::kCluster, Pace::kReport},
    // The deletion of the ClusterPodPlacementConfig waits for that, too.
    {Event::kFeatureRemoved, Target::kCluster},
    {Event::kFeatureReported, Target::kCluster, Pace::kPaced},
    {Event::kOwnWebhooks, Target::kOwnWebhooks},
    {Event::kValidation, Target::kOwnWebhooks},
    {Event::kGatingProbe, Target::kGating},
    {Event::kClusterObject, Target::kCluster, Pace::kPaced},
};

// The events of the operator's objects with these names. Those that a feature owns enqueue its
// request; the others are a shard's or the cluster's.
struct NamedObject {
  std::string_view name;
  Event event;
};

inline constexpr NamedObject kNamedObjects[] = {
    {kValidatingWebhookConfigurationName, Event::kValidation},
    {kGatingProbeName, Event::kGatingProbe},
};

}  // namespace operator_
