// SPDX-License-Identifier: Apache-2.0
#include "operator/webhooks/own_webhooks_reconciler.h"

#include <utility>

#include "api/names.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Json;
using kube::Ok;
using kube::Outcome;
using kube::Result;

Json Conversion(const std::string& ca_bundle_pem, const OperandOptions& options) {
  Json service = {{"namespace", options.ns},
                  {"name", std::string(api::kOperatorServiceName)},
                  {"path", std::string(api::kConversionPath)},
                  {"port", 443}};
  Json client_config = {{"service", std::move(service)},
                        {"caBundle", kube::Base64Encode(ca_bundle_pem)}};
  Json webhook = {{"conversionReviewVersions", Json::array({"v1"})},
                  {"clientConfig", std::move(client_config)}};
  return {{"strategy", "Webhook"}, {"webhook", std::move(webhook)}};
}

kube::InformerOptions<kube::Unstructured> CrdOptions() {
  kube::InformerOptions<kube::Unstructured> options;
  options.field_selector = "metadata.name=" + std::string(kConvertedCrdName);
  options.resource = kube::kCustomResourceDefinitions;
  options.trim = [](kube::Unstructured& crd) {
    Json kept = {{"metadata", {{"name", crd.metadata().name()}, {"uid", crd.metadata().uid()}}}};
    kept["metadata"]["resourceVersion"] = crd.metadata().resource_version();
    if (const Json* conversion = kube::Find(crd.body(), "spec.conversion"))
      kept["spec"]["conversion"] = *conversion;
    crd = kube::Unstructured(std::move(kept));
  };
  return options;
}

}  // namespace

OwnWebhooksReconciler::OwnWebhooksReconciler(kube::Client& client, kube::Clock& clock,
                                             OperandOptions options, OperandStore& store,
                                             OwnCertificate& certificate,
                                             std::vector<ValidatedKind> validated)
    : client_(client),
      options_(std::move(options)),
      store_(store),
      certificate_(certificate),
      validated_(std::move(validated)),
      crd_(client, clock, CrdOptions()) {
  crd_.OnEvent([this](kube::EventType, const kube::Unstructured&) {
    if (on_change_) on_change_();
  });
}

void OwnWebhooksReconciler::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-crd", crd_.Run());
  tasks.Spawn("watch-own-bundle", WatchBundle());
}

boost::asio::awaitable<void> OwnWebhooksReconciler::WatchBundle() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<> changed = co_await certificate_.WaitForNewBundle();
    if (!changed) co_return;
    if (on_change_) on_change_();
  }
}

Async<Outcome> OwnWebhooksReconciler::Reconcile(kube::Request request) {
  Json configuration =
      ValidatingWebhookConfiguration(validated_, certificate_.ca_bundle_pem(), options_);
  DesiredObject validation{kube::kValidatingWebhookConfigurations, std::move(configuration)};
  ObjectId id = validation.Id();
  Result<bool> foreign = co_await store_.RemoveForeign(std::move(id), request.log);
  if (!foreign) co_return foreign.error();
  Result<> applied = co_await store_.Ensure(std::move(validation), request.log);
  if (!applied) co_return applied.error();
  Result<> patched = co_await PatchConversion();
  if (!patched) co_return patched.error();
  co_return Outcome::Done();
}

Async<> OwnWebhooksReconciler::PatchConversion() {
  kube::ObjectKey key{"", std::string(kConvertedCrdName)};
  std::optional<kube::Unstructured> crd = crd_.Get(key);
  if (!crd) co_return kube::Error::NotFound("CRD " + key.name);
  Json wanted = Conversion(certificate_.ca_bundle_pem(), options_);
  const Json* current = kube::Find(crd->body(), "spec.conversion");
  if (current != nullptr && *current == wanted) co_return Ok();
  Json patch = {{"spec", {{"conversion", std::move(wanted)}}}};
  Result<kube::Unstructured> patched = co_await kube::PatchObject(
      client_, kube::kCustomResourceDefinitions, key, kube::kMergePatch, std::move(patch));
  if (!patched) co_return patched.error().Prefix("patch the CRD " + key.name);
  co_return Ok();
}

}  // namespace operator_
