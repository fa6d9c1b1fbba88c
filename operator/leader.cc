// SPDX-License-Identifier: Apache-2.0
#include "operator/leader.h"

#include <glog/logging.h>

#include <utility>

#include "api/label_selector.h"
#include "api/names.h"
#include "api/operands.h"
#include "kube/client/typed.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr auto kRetryEvery = 2s;
// A repaired quota or registry is noticed within the longest backoff.
constexpr kube::WorkQueueOptions kRetries{.base_delay = 50ms, .max_delay = 60s};

const ObjectKey kClusterKey{"", std::string(api::kClusterConfigName)};

// A key of the pacer; no namespace has this name.
const std::string kClusterPace;

const ObjectKey kGatingKey{"", "gating"};

const ObjectKey kProbesKey{"", "probes"};

const ObjectKey kOwnWebhooksKey{"", "webhooks"};

ObjectKey ShardKey(std::string ns) { return {"", std::move(ns)}; }

// A ClusterPodPlacementConfig that is not being deleted wants policies to gate pods.
bool WantsGatingByPolicy(const ConfigStore& configs) {
  std::optional<api::ClusterPodPlacementConfig> config = configs.Cluster();
  return config && !config->metadata().has_deletion_timestamp() &&
         config->spec.gating == api::kGatingByPolicy;
}

std::vector<ValidatedKind> ValidatedKindsOf(const Features& features) {
  std::vector<ValidatedKind> kinds;
  for (const std::unique_ptr<Feature>& feature : features) {
    for (const ValidatedKind& kind : feature->ValidatedKinds()) kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace

Leader::Leader(kube::Client& client, kube::Clock& clock, LeaderOptions options,
               OwnCertificate& certificate, const Features& features)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      configs_(client, clock),
      namespaces_(client, clock, options_.operands.excluded_namespaces),
      store_(client, clock),
      pacer_(clock, options_.changes),
      gating_pacer_(clock, options_.gating),
      events_(client, clock, {.component = std::string(kManagedBy)}),
      upgrades_(clock, options_.upgrades),
      known_images_(options_.new_known_images
                        ? options_.new_known_images(client, clock, options_.operands.ns)
                        : nullptr),
      gating_prober_(
          client, clock, options_.operands, [this] { return WantsGatingByPolicy(configs_); },
          store_),
      webhook_prober_(client, clock, options_.operands),
      shard_reconciler_(client, clock, options_.operands, configs_, namespaces_, store_,
                        gating_prober_, webhook_prober_, upgrades_, events_, options_.shard_timing),
      cluster_reconciler_(client, clock, options_.operands, configs_, store_, gating_prober_,
                          webhook_prober_, upgrades_, known_images_.get(), events_,
                          {.remains = [this] { return RemainsOfFeatures(); },
                           .conditions = [this] { return ConditionsOfFeatures(); }},
                          options_.cluster_timing),
      own_webhooks_reconciler_(client, clock, options_.operands, store_, certificate,
                               ValidatedKindsOf(features)),
      announcement_cleaner_(client, clock),
      shards_({.name = "shards", .workers = kShardWorkers, .queue = kRetries}, shard_reconciler_,
              clock, options_.shard_observer),
      cluster_({.name = "cluster", .workers = 1, .queue = kRetries}, cluster_reconciler_, clock,
               options_.cluster_observer),
      gating_({.name = "gating", .workers = 1, .queue = kRetries}, gating_prober_, clock),
      probes_({.name = "probes", .workers = 1, .queue = kRetries}, webhook_prober_, clock),
      own_webhooks_({.name = "own-webhooks", .workers = 1, .queue = kRetries},
                    own_webhooks_reconciler_, clock),
      announcements_({.name = "announcements", .workers = 1, .queue = kRetries},
                     announcement_cleaner_, clock) {
  configs_.OnNamespace([this](const std::string& ns) {
    On(Event::kConfig, ns);
    if (configs_.empty()) On(Event::kLastConfigDeleted);
  });
  configs_.OnGated([this] { On(Event::kGated); });
  configs_.OnDeleted([this](const std::string& ns, const std::string& uid) {
    On(Event::kConfigDeleted, ns, uid);
  });
  configs_.OnCluster([this] { OnCluster(); });
  namespaces_.OnNamespace([this](const std::string& ns) {
    if (configs_.Has(ns)) On(Event::kNamespace, ns);
  });
  if (known_images_) known_images_->OnChange([this] { On(Event::kKnownImages); });
  upgrades_.OnTurn([this](const std::string& ns) { On(Event::kUpgradeTurn, ns); });
  upgrades_.OnProgress([this] { OnUpgrade(); });
  gating_prober_.OnAsked([this] { On(Event::kGatingProofAsked); });
  gating_prober_.OnChange([this] { On(Event::kGatingSupport); });
  gating_prober_.OnProven([this](const std::string& scope) {
    On(scope.empty() ? Event::kClusterProven : Event::kShardProven, scope);
  });
  webhook_prober_.OnFollowed([this] { On(Event::kProbeFollowed); });
  webhook_prober_.OnChange([this](const std::string& scope) {
    On(scope.empty() ? Event::kClusterReach : Event::kShardReach, scope);
  });
  own_webhooks_reconciler_.OnChange([this] { On(Event::kOwnWebhooks); });
  store_.OnChange([this](const kube::Unstructured& object) { OnObject(object); });
  for (const std::unique_ptr<Feature>& feature : features) AddFeature(*feature);
}

void Leader::AddFeature(Feature& feature) {
  std::string name(feature.name());
  FeatureRun& run = features_.emplace_back();
  run.key = {"", name};
  FeatureContext context{.client = client_,
                         .clock = clock_,
                         .options = options_.operands,
                         .configs = configs_,
                         .store = store_,
                         .changed = [this, &run] { Enqueue(run, Pace::kPaced); },
                         .removed = [this] { On(Event::kFeatureRemoved); },
                         .reported = [this] { On(Event::kFeatureReported); }};
  run.term = feature.NewTerm(std::move(context));
  kube::ControllerOptions controller{.name = std::move(name), .workers = 1, .queue = kRetries};
  run.controller = std::make_unique<kube::Controller>(std::move(controller), *run.term, clock_);
  for (std::string& deployment : feature.Deployments())
    feature_deployments_.push_back(std::move(deployment));
}

std::string Leader::RemainsOfFeatures() const {
  for (const FeatureRun& run : features_) {
    if (std::string remains = run.term->Remains(); !remains.empty()) return remains;
  }
  return "";
}

std::vector<FeatureCondition> Leader::ConditionsOfFeatures() const {
  std::vector<FeatureCondition> conditions;
  for (const FeatureRun& run : features_) {
    for (FeatureCondition& condition : run.term->Conditions())
      conditions.push_back(std::move(condition));
  }
  return conditions;
}

Leader::~Leader() {
  if (options_.operand_metrics != nullptr) options_.operand_metrics->Stop();
}

boost::asio::awaitable<void> Leader::Run(kube::TaskGroup& tasks) {
  co_await kube::IgnoreCancellation();
  configs_.Start(tasks);
  namespaces_.Start(tasks);
  for (FeatureRun& run : features_) run.term->Start(tasks);
  store_.Start(tasks);
  if (known_images_) known_images_->Start(tasks);
  own_webhooks_reconciler_.Start(tasks);
  tasks.Spawn("events", events_.Run());
  Result<> configs_synced = co_await configs_.WaitForSync();
  if (!configs_synced) co_return;
  Result<> namespaces_synced = co_await namespaces_.WaitForSync();
  if (!namespaces_synced) co_return;
  Result<> store_synced = co_await store_.WaitForSync();
  if (!store_synced) co_return;
  Result<> own_webhooks_synced = co_await own_webhooks_reconciler_.WaitForSync();
  if (!own_webhooks_synced) co_return;
  if (options_.operand_metrics != nullptr)
    options_.operand_metrics->Follow(
        store_, feature_deployments_,
        {.upgrade = [this] { return upgrades_.progress(); },
         .left_out = [this] { return configs_.LeftOut(); },
         .unreachable = [this] { return webhook_prober_.Unreachable(); },
         .cluster_reach = [this] { return webhook_prober_.Of(""); }});

  // A teardown must see all policies that gate pods.
  std::function<Async<>()> begin = [this] { return gating_prober_.Begin(); };
  Result<> begun = co_await Retry(std::move(begin));
  if (!begun) co_return;
  std::function<Async<>()> read = [this] { return ReadAuthorities(); };
  Result<> known = co_await Retry(std::move(read));
  if (!known) co_return;
  On(Event::kStart);
  upgrades_.Expect(store_.ShardNamespaces());
  for (std::string& ns : store_.ShardNamespaces()) shards_.Enqueue(ShardKey(std::move(ns)));

  tasks.Spawn(shards_.name(), shards_.Run(tasks));
  tasks.Spawn(cluster_.name(), cluster_.Run(tasks));
  tasks.Spawn(gating_.name(), gating_.Run(tasks));
  tasks.Spawn(probes_.name(), probes_.Run(tasks));
  for (FeatureRun& run : features_) tasks.Spawn(run.controller->name(), run.controller->Run(tasks));
  tasks.Spawn(own_webhooks_.name(), own_webhooks_.Run(tasks));
  tasks.Spawn(announcements_.name(), announcements_.Run(tasks));
}

void Leader::On(Event event, const std::string& ns, const std::string& uid) {
  for (const Route& route : kRoutes) {
    if (route.event == event) Enqueue(route, ns, uid);
  }
}

void Leader::Enqueue(const Route& route, const std::string& ns, const std::string& uid) {
  switch (route.target) {
    case Target::kShard:
      return Enqueue(shards_, ShardKey(ns), route.pace, ns);
    case Target::kAllShards:
      for (const std::string& each : configs_.Namespaces())
        Enqueue(shards_, ShardKey(each), route.pace, each);
      return;
    case Target::kCluster:
      return Enqueue(cluster_, kClusterKey, route.pace, kClusterPace);
    case Target::kGating:
      return Enqueue(gating_, kGatingKey, route.pace, kClusterPace);
    case Target::kProbes:
      return Enqueue(probes_, kProbesKey, route.pace, kClusterPace);
    case Target::kFeatures:
      for (FeatureRun& run : features_) Enqueue(run, route.pace);
      return;
    case Target::kOwnWebhooks:
      return Enqueue(own_webhooks_, kOwnWebhooksKey, route.pace, kClusterPace);
    case Target::kAnnouncements:
      return Enqueue(announcements_, {ns, uid}, route.pace, ns);
  }
}

void Leader::Enqueue(FeatureRun& run, Pace pace) {
  // No namespace has this name.
  Enqueue(*run.controller, run.key, pace, "/" + run.key.name);
}

void Leader::Enqueue(kube::Controller& controller, const ObjectKey& key, Pace pace,
                     const std::string& paced_as) {
  switch (pace) {
    case Pace::kAtOnce:
      return controller.Enqueue(key);
    case Pace::kPaced:
      return controller.EnqueueAfter(key, pacer_.Delay(paced_as));
    case Pace::kGating:
      return controller.EnqueueAfter(key, gating_pacer_.Delay(paced_as));
    case Pace::kReport:
      return controller.EnqueueAfter(key, options_.upgrade_report);
  }
}

void Leader::OnObject(const kube::Unstructured& object) {
  for (const NamedObject& named : kNamedObjects) {
    if (object.metadata().name() == named.name) return On(named.event);
  }
  for (FeatureRun& run : features_) {
    if (run.term->Owns(object)) return Enqueue(run, Pace::kPaced);
  }
  std::string ns = ShardNamespaceOf(object);
  On(ns.empty() ? Event::kClusterObject : Event::kShardObject, ns);
}

void Leader::OnCluster() {
  On(Event::kClusterConfig);
  // A write of the status alone does not enqueue it, because its reconcile asks the API server.
  bool by_policy = WantsGatingByPolicy(configs_);
  if (std::exchange(gating_by_policy_, by_policy) != by_policy) On(Event::kGatingSpec);
  std::optional<api::ClusterPodPlacementConfig> config = configs_.Cluster();
  std::string settings = config ? config->spec.log_verbosity + " " + config->spec.gating : "";
  if (config && config->spec.namespace_selector) {
    kube::Json selector = api::LabelSelectorToJson(*config->spec.namespace_selector);
    settings += kube::DumpJson(selector);
  }
  if (config) settings += kube::DumpJson(kube::Json(config->spec.excluded_scheduler_names));
  if (config && config->spec.operands)
    settings += kube::DumpJson(api::OperandsToJson({.shard = config->spec.operands->shard}));
  if (settings == shard_settings_) return;
  shard_settings_ = std::move(settings);
  On(Event::kShardSpec);
}

void Leader::OnUpgrade() {
  UpgradeProgress progress = upgrades_.progress();
  // A namespace that comes or goes is no progress.
  progress.shards = 0;
  if (progress == reported_) return;
  reported_ = std::move(progress);
  On(Event::kUpgradeProgress);
}

Async<> Leader::Retry(std::function<Async<>()> step) {
  while (true) {
    Result<> done = co_await step();
    if (done) co_return Ok();
    LOG(WARNING) << done.error();
    Result<> slept = co_await clock_.Sleep(kRetryEvery);
    if (!slept) co_return slept.error();
  }
}

Async<> Leader::ReadAuthorities() {
  kube::ListOptions options{.ns = options_.operands.ns,
                            .label_selector = std::string(kShardNamespaceLabel)};
  Result<kube::TypedList<kube::core::Secret>> secrets =
      co_await kube::List<kube::core::Secret>(client_, std::move(options));
  if (!secrets) co_return secrets.error().Prefix("list the authorities");
  shard_reconciler_.Know(secrets->items);
  for (const kube::core::Secret& secret : secrets->items) {
    auto ns = secret.metadata().labels().find(std::string(kShardNamespaceLabel));
    if (ns != secret.metadata().labels().end()) shards_.Enqueue(ShardKey(ns->second));
  }
  co_return Ok();
}

}  // namespace operator_
