// SPDX-License-Identifier: Apache-2.0
// ProbedWebhooks: a client that answers the operator's probes of webhooks as an API server does,
// and forwards all other calls. It stores nothing, and its calls are not among those of the
// FakeApiServer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/webhook_probe.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

class ProbedWebhooks final : public kube::Client {
 public:
  // `client` outlives this; the client that it points to may change.
  explicit ProbedWebhooks(kube::Client* const& client) : client_(client) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    bool probe = request.target.find("/deployments?dryRun=All") != std::string::npos &&
                 request.body.find(api::kWebhookProbeLabel) != std::string::npos;
    if (!probe) co_return co_await client_->Call(std::move(request));
    kube::Json object = kube::MustParseJson(request.body);
    std::string scope = object["metadata"]["labels"][std::string(api::kWebhookProbeLabel)];
    last_target = request.target;
    ++probes[scope];
    if (refuse) co_return *refuse;
    kube::Json& annotations = object["metadata"]["annotations"];
    if (!unreachable.contains(scope)) {
      annotations[std::string(api::kWebhookProbeAnnotation)] = scope;
      if (!report.empty()) annotations[std::string(api::kWebhookReportAnnotation)] = report;
    }
    co_return kube::ApiResponse{
        .status = 201, .content_type = std::string(kube::kJson), .body = kube::DumpJson(object)};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    return client_->Watch(std::move(request));
  }

  // The namespaces, or "Cluster", whose webhook the API server cannot call.
  std::set<std::string> unreachable;
  // What the webhooks report to the operator.
  std::string report;
  // The answer to all probes.
  std::optional<kube::Error> refuse;
  // How many there were of each.
  std::map<std::string, int> probes;
  std::string last_target;

 private:
  kube::Client* const& client_;
};

}  // namespace operator_
