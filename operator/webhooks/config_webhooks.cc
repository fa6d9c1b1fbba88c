// SPDX-License-Identifier: Apache-2.0
#include "operator/webhooks/config_webhooks.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/conversion.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "api/pointers.h"
#include "api/validation.h"
#include "kube/client/access_review.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "operator/objects/namespace_exists.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/rules/rule_check.h"

namespace operator_ {
namespace {

using api::ClusterPodPlacementConfig;
using api::PodPlacementConfig;
using kube::AdmissionRequest;
using kube::AdmissionResponse;
using kube::Async;
using kube::HttpCall;
using kube::HttpReply;
using kube::Json;
using kube::Result;

// The API server waits ten seconds for an answer. An announcement that begins within this time ends
// half a second before that.
constexpr std::chrono::seconds kAnnounceWithin{5};
// How long a review waits for the gate of its pods, and by when it ends after the request's
// arrival.
constexpr std::chrono::seconds kGatedWithin{2};
constexpr std::chrono::seconds kAllowedWithin{9};
// From the request's arrival to the end of the list of the namespace's configs.
constexpr std::chrono::seconds kListWithin{4};
// Timeouts of reading the ClusterPodPlacementConfig: for a decision, and for a warning alone.
constexpr std::chrono::seconds kReadWithin{3};
constexpr std::chrono::seconds kReadForWarningWithin{1};
// Timeout of the question what a user may do.
constexpr std::chrono::seconds kAskWithin{2};

// Of a PodPlacementConfig as JSON: the spec with api::kMaxConfigBytes, and its metadata. The API
// server limits neither labels nor owners nor finalizers, and a list has them all.
constexpr size_t kMaxObjectBytes = 128 * 1024;

template <class T>
Result<T> Read(Json json, const AdmissionRequest& request) {
  Result<T> object = T::FromJson(std::move(json));
  if (object) object->mutable_metadata()->set_namespace_(request.ns);
  return object;
}

template <class T>
Result<T> Read(const std::string& text, const AdmissionRequest& request) {
  Result<Json> json = kube::ParseJson(text);
  if (!json) return json.error();
  return Read<T>(std::move(*json), request);
}

bool IsBeingDeleted(const Json& object) {
  return kube::Find(object, "metadata.deletionTimestamp") != nullptr;
}

Json SpecOf(const Json& object) {
  const Json* spec = kube::Find(object, "spec");
  return spec != nullptr ? *spec : Json();
}

size_t FinalizersOf(const Json& object) {
  const Json* finalizers = kube::Find(object, "metadata.finalizers");
  return finalizers != nullptr ? finalizers->size() : 0;
}

// Whether nothing but finalizers is removed. Managed fields change with each update.
bool RemovesFinalizers(Json old_object, Json object) {
  if (FinalizersOf(object) >= FinalizersOf(old_object)) return false;
  for (Json* json : {&old_object, &object}) {
    for (const char* name : {"finalizers", "managedFields"}) (*json)["metadata"].erase(name);
  }
  return object == old_object;
}

// `old_object`: null for a new one. What is stored and too large can still be made smaller, and
// nothing keeps its finalizers from being removed. It does not grow while it is being deleted.
api::FieldErrors ValidateSize(const AdmissionRequest& request, const Json& old_object,
                              const Json& object) {
  size_t bytes = request.object_json.size();
  if (bytes <= kMaxObjectBytes || bytes <= request.old_object_json.size()) return {};
  if (RemovesFinalizers(old_object, object)) return {};
  return {{"metadata",
           "the object has " + std::to_string(bytes) +
               " bytes as JSON with its metadata, at most " + std::to_string(kMaxObjectBytes) +
               " are allowed: shorten labels, annotations, owners, finalizers or the spec. "
               "`kubectl apply --server-side` adds no copy of the spec to the annotations"}};
}

AdmissionResponse Answer(const api::FieldErrors& errors) {
  return errors.empty() ? AdmissionResponse::Allowed()
                        : AdmissionResponse::Denied(422, "Invalid", api::Describe(errors));
}

// Adds a warning to `answer` about architectures of `config` that may be spelling mistakes.
template <class T>
AdmissionResponse WarnOfUnknownArchitectures(AdmissionResponse answer, const T& config) {
  std::string warning = api::WarningOfUnknownArchitectures(config);
  if (warning.empty()) return answer;
  return std::move(answer).Warn(std::move(warning));
}

// The answer to a new or changed `config`, with warnings about fields that may have no effect.
AdmissionResponse Answer(const ClusterPodPlacementConfig& config, const api::FieldErrors& errors) {
  AdmissionResponse answer = Answer(errors);
  if (!answer.allowed()) return answer;
  return WarnOfUnknownArchitectures(std::move(answer), config);
}

// The first PodPlacementConfigs of all namespaces that exist.
Async<std::vector<PodPlacementConfig>> FirstConfigs(kube::Client& client) {
  constexpr int kFirst = 4;
  kube::ListPages pages(client, kube::ResourceOf<PodPlacementConfig>::value, {.limit = kFirst},
                        /*protobuf=*/false);
  std::vector<PodPlacementConfig> first;
  while (first.empty() && pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    Result<std::vector<PodPlacementConfig>> configs = kube::DecodeItems<PodPlacementConfig>(*page);
    if (!configs) co_return configs.error();
    for (PodPlacementConfig& config : *configs) {
      Result<bool> exists = co_await NamespaceExists(client, config.metadata().namespace_());
      if (!exists) co_return exists.error();
      if (*exists) first.push_back(std::move(config));
    }
  }
  co_return first;
}

// Why the rules of `config` that `old_rules` does not have are refused. `existing` is as for
// api::ValidateCreate(). Makes no call if there are none.
Async<api::FieldErrors> ValidateRules(kube::Client& client, const PodPlacementConfig& config,
                                      const std::vector<api::CelRule>& old_rules,
                                      const std::vector<PodPlacementConfig>& existing) {
  std::vector<api::CelRule> rules(config.Rules().begin(), config.Rules().end());
  size_t of_namespace = rules.size();
  for (const PodPlacementConfig& other : existing) {
    if (other.metadata().name() != config.metadata().name())
      of_namespace += other.spec.cel_rules.size();
  }
  api::FieldErrors errors;
  if (rules.size() > old_rules.size() && of_namespace > kMaxNamespaceRules) {
    errors.push_back(TooManyRules("spec.celRules"));
    co_return errors;
  }
  auto is_old = [&](const api::CelRule& rule) {
    return std::any_of(old_rules.begin(), old_rules.end(), [&](const api::CelRule& old_rule) {
      return old_rule.expression == rule.expression;
    });
  };
  if (std::all_of(rules.begin(), rules.end(), is_old)) co_return errors;
  Result<LeftOutRules> refused = co_await CheckRules(client, rules);
  if (!refused) co_return refused.error();
  for (const auto& [index, error] : *refused) {
    if (!is_old(rules[index])) errors.push_back(error);
  }
  co_return errors;
}

// Whether `config` has a rule that the stored config does not have with that expression.
bool AddsRules(const PodPlacementConfig& config, const std::vector<api::CelRule>& old_rules) {
  return std::any_of(
      config.spec.cel_rules.begin(), config.spec.cel_rules.end(), [&](const api::CelRule& rule) {
        return std::none_of(old_rules.begin(), old_rules.end(), [&](const api::CelRule& old_rule) {
          return old_rule.name == rule.name && old_rule.expression == rule.expression;
        });
      });
}

// Whether `config` would be the first of its namespace that may change pods.
bool ChangesPodsFirst(const PodPlacementConfig& config,
                      const std::vector<PodPlacementConfig>& existing) {
  return config.MayChangePods() &&
         std::none_of(existing.begin(), existing.end(),
                      [](const PodPlacementConfig& other) { return other.MayChangePods(); });
}

// Whether the user of `request` may add rules: an expression can cost the API server seconds of CPU
// for each pod, so not every user who may write configs may add one.
Async<bool> MayUseRules(kube::Client& client, AdmissionRequest request) {
  Result<Json> user = kube::ParseJson(request.user_json);
  if (!user) co_return user.error().Prefix("userInfo");
  Json attributes = {{"namespace", request.ns},
                     {"verb", "use"},
                     {"group", std::string(api::kGroup)},
                     {"resource", std::string(kCelRulesResource)}};
  Json who = std::move(*user);
  Result<bool> may =
      co_await kube::MayAccess(client, std::move(who), std::move(attributes), kAskWithin);
  co_return may;
}

AdmissionResponse MayNotUseRules(const AdmissionRequest& request) {
  return AdmissionResponse::Denied(
      403, "Forbidden",
      "spec.celRules: " + request.user + " may not use celRules." + std::string(api::kGroup) +
          " in namespace " + request.ns +
          ": an expression can cost the API server much time for each pod. A cluster "
          "administrator can bind the ClusterRole " +
          std::string(kCelRulesClusterRole) + " to the user in this namespace");
}

// nullopt if there is none, or if it is being deleted.
Async<std::optional<ClusterPodPlacementConfig>> ReadClusterConfig(kube::Client& client,
                                                                  std::chrono::seconds timeout) {
  const kube::Resource& kind = kube::ResourceOf<ClusterPodPlacementConfig>::value;
  kube::ApiRequest request{.target = kind.Path("", api::kClusterConfigName), .timeout = timeout};
  Result<ClusterPodPlacementConfig> config =
      co_await kube::CallFor<ClusterPodPlacementConfig>(client, std::move(request));
  if (IsNotFound(config)) co_return std::nullopt;
  if (!config) co_return config.error();
  if (config->metadata().has_deletion_timestamp()) co_return std::nullopt;
  co_return std::move(*config);
}

// Adds a warning to `answer` if the cluster's preferences outweigh those of `config`.
AdmissionResponse WarnIfOutweighed(AdmissionResponse answer, const PodPlacementConfig& config,
                                   const ClusterPodPlacementConfig& cluster_config) {
  const api::Platform* heavier = api::OutweighedBy(config, cluster_config);
  if (heavier == nullptr) return answer;
  return std::move(answer).Warn("ClusterPodPlacementConfig: " + heavier->architecture +
                                " with weight " + std::to_string(heavier->weight) +
                                " outweighs the preferences of this configuration: set " +
                                heavier->architecture +
                                " here, too, or let an administrator set "
                                "spec.plugins.nodeAffinityScoring.precedence: Namespace");
}

Async<HttpReply> Convert(HttpCall call) {
  Result<Json> review = kube::ParseJson(call.body);
  if (!review) co_return kube::FailureReply(400, review.error().message());
  Result<Json> answer = api::AnswerConversionReview(*review);
  if (!answer) co_return kube::FailureReply(400, answer.error().message());
  co_return HttpReply{.body = kube::DumpJson(*answer)};
}

}  // namespace

void ConfigWebhooks::AddTo(kube::HttpsServer& server) {
  server.Handle("POST", std::string(api::kValidateConfigPath),
                kube::ReviewHandler([this](AdmissionRequest request) {
                  return ValidateConfig(std::move(request));
                }));
  server.Handle("POST", std::string(api::kValidateClusterConfigPath),
                kube::ReviewHandler([this](AdmissionRequest request) {
                  return ValidateClusterConfig(std::move(request));
                }));
  server.Handle("POST", std::string(api::kConversionPath), Convert);
}

Async<AdmissionResponse> ConfigWebhooks::ValidateConfig(AdmissionRequest request) {
  bool created = request.operation == "CREATE";
  if (!created && request.operation != "UPDATE") co_return AdmissionResponse::Allowed();
  kube::TimePoint received = clock_.Now();
  Result<Json> object = kube::ParseJson(request.object_json);
  if (!object) co_return AdmissionResponse::Denied(422, "Invalid", object.error().message());
  Json old_object;
  if (!created) {
    Result<Json> parsed = kube::ParseJson(request.old_object_json);
    if (!parsed) co_return AdmissionResponse::Denied(422, "Invalid", parsed.error().message());
    old_object = std::move(*parsed);
  }
  Result<PodPlacementConfig> config = Read<PodPlacementConfig>(*object, request);
  if (!config) co_return AdmissionResponse::Denied(422, "Invalid", config.error().message());
  // These need no other object.
  api::FieldErrors errors = ValidateSize(request, old_object, *object);
  if (created && config->too_large) errors = config->problems;
  if (!errors.empty()) co_return Answer(errors);

  if (!created) {
    Result<AdmissionResponse> updated =
        co_await ValidateUpdate(request, old_object, *object, *config, received);
    co_return updated;
  }
  Result<watches::ConfigCache::Configs> listed =
      co_await lists_.Read(request.ns, received + kListWithin);
  if (!listed) co_return listed.error();
  const std::vector<PodPlacementConfig>& existing = **listed;
  Result<std::optional<ClusterPodPlacementConfig>> cluster_config =
      co_await ReadClusterConfig(client_, kReadWithin);
  if (!cluster_config)
    co_return cluster_config.error().Prefix("read the ClusterPodPlacementConfig");
  errors = api::ValidateCreate(*config, api::Pointers(existing), cluster_config->has_value());
  if (!errors.empty()) co_return Answer(errors);
  const std::vector<api::CelRule> none;
  Result<AdmissionResponse> rules = co_await DecideRules(request, *config, none, existing);
  if (!rules || !rules->allowed()) co_return rules;
  bool first = ChangesPodsFirst(*config, existing);
  Result<AdmissionResponse> allowed = co_await Allow(!request.dry_run, first, *config, received);
  if (!allowed) co_return allowed;
  AdmissionResponse answer = WarnOfUnknownArchitectures(std::move(*allowed), *config);
  co_return WarnIfOutweighed(std::move(answer), *config, **cluster_config);
}

Async<AdmissionResponse> ConfigWebhooks::ValidateUpdate(const AdmissionRequest& request,
                                                        const Json& old_object, const Json& object,
                                                        const PodPlacementConfig& config,
                                                        kube::TimePoint received) {
  Result<PodPlacementConfig> old_config = Read<PodPlacementConfig>(old_object, request);
  if (!old_config)
    co_return AdmissionResponse::Denied(422, "Invalid", old_config.error().message());
  bool first = false;
  if (!IsBeingDeleted(object) && SpecOf(object) != SpecOf(old_object)) {
    Result<watches::ConfigCache::Configs> listed =
        co_await lists_.Read(request.ns, received + kListWithin);
    if (!listed) co_return listed.error();
    const std::vector<PodPlacementConfig>& existing = **listed;
    api::FieldErrors errors = api::ValidateUpdate(*old_config, config, api::Pointers(existing));
    if (!errors.empty()) co_return Answer(errors);
    Result<AdmissionResponse> rules =
        co_await DecideRules(request, config, old_config->spec.cel_rules, existing);
    if (!rules || !rules->allowed()) co_return rules;
    first = ChangesPodsFirst(config, existing);
  }
  bool changes = old_config->metadata().generation() != config.metadata().generation();
  Result<AdmissionResponse> allowed =
      co_await Allow(changes && !request.dry_run, first, config, received);
  if (!allowed || !changes) co_return allowed;
  AdmissionResponse answer = WarnOfUnknownArchitectures(std::move(*allowed), config);
  if (config.Preferences().empty()) co_return answer;
  Result<std::optional<ClusterPodPlacementConfig>> cluster_config =
      co_await ReadClusterConfig(client_, kReadForWarningWithin);
  // An error costs no more than the warning.
  if (!cluster_config || !*cluster_config) co_return answer;
  co_return WarnIfOutweighed(std::move(answer), config, **cluster_config);
}

Async<AdmissionResponse> ConfigWebhooks::DecideRules(
    const AdmissionRequest& request, const PodPlacementConfig& config,
    const std::vector<api::CelRule>& old_rules, const std::vector<PodPlacementConfig>& existing) {
  if (!AddsRules(config, old_rules)) co_return AdmissionResponse::Allowed();
  Result<bool> may = co_await MayUseRules(client_, request);
  if (!may) co_return may.error();
  if (!*may) co_return MayNotUseRules(request);
  Result<api::FieldErrors> refused = co_await ValidateRules(client_, config, old_rules, existing);
  if (!refused) co_return refused.error();
  co_return Answer(*refused);
}

Async<AdmissionResponse> ConfigWebhooks::Allow(bool changes, bool first,
                                               const PodPlacementConfig& config,
                                               kube::TimePoint received) {
  if (!changes) co_return AdmissionResponse::Allowed();
  Result<> announced = co_await announcer_.Announce(config, received + kAnnounceWithin);
  kube::IgnoreError(announced, "logged and counted");
  if (!announced || !first) co_return AdmissionResponse::Allowed();
  const std::string& ns = config.metadata().namespace_();
  kube::TimePoint deadline = std::min(clock_.Now() + kGatedWithin, received + kAllowedWithin);
  Result<> gated = co_await gate_.Await(ns, deadline);
  LOG_IF(WARNING, !gated) << "namespace=" << ns << " a pod created at the same time as "
                          << config.metadata().name()
                          << " may miss its preferences: " << gated.error();
  co_return AdmissionResponse::Allowed();
}

Async<AdmissionResponse> ConfigWebhooks::ValidateClusterConfig(AdmissionRequest request) {
  bool deleted = request.operation == "DELETE";
  Result<ClusterPodPlacementConfig> config = Read<ClusterPodPlacementConfig>(
      deleted ? request.old_object_json : request.object_json, request);
  if (!config) co_return AdmissionResponse::Denied(422, "Invalid", config.error().message());
  if (request.operation == "CREATE") co_return Answer(*config, api::ValidateCreate(*config));
  if (request.operation == "UPDATE") {
    Result<ClusterPodPlacementConfig> old_config =
        Read<ClusterPodPlacementConfig>(request.old_object_json, request);
    if (!old_config)
      co_return AdmissionResponse::Denied(422, "Invalid", old_config.error().message());
    co_return Answer(*config, api::ValidateUpdate(*old_config, *config));
  }
  if (!deleted) co_return AdmissionResponse::Allowed();

  Result<std::vector<PodPlacementConfig>> existing = co_await FirstConfigs(client_);
  if (!existing) co_return existing.error().Prefix("list PodPlacementConfigs");
  api::FieldErrors errors = api::ValidateDelete(*config, api::Pointers(*existing));
  if (errors.empty()) co_return AdmissionResponse::Allowed();
  co_return AdmissionResponse::Denied(403, "Forbidden", api::Describe(errors));
}

}  // namespace operator_
