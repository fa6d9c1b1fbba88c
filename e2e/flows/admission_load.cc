// SPDX-License-Identifier: Apache-2.0
#include "e2e/flows/admission_load.h"

#include <sstream>

#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr Resource kOlderClusterConfigs{api::kGroup, "v1alpha1", "clusterpodplacementconfigs",
                                        "ClusterPodPlacementConfig", false};
// Counts every request, so it shows that the metrics were read.
constexpr char kRequests[] = "apiserver_request_total";

}  // namespace

Result<> AdmissionLoad::CallEachWebhook() {
  std::string name = "p" + std::to_string(++pods_);
  std::string image = scene_.cluster().Image("demo/multi:1");
  auto pod = scene_.Create(kPods, MakePod(name).Image(image).Build());
  if (!pod) return pod.error().Prefix("create pod " + name);
  auto config = scene_.Patch(kConfigs, "only",
                             {{"metadata", {{"annotations", {{"example.com/number", name}}}}}});
  if (!config) return config.error().Prefix("change the config");
  auto converted = scene_.Get(kOlderClusterConfigs, std::string(api::kClusterConfigName));
  if (!converted) return converted.error().Prefix("read the config as v1alpha1");
  return Ok();
}

std::map<std::string, double> AdmissionLoad::FailedCalls() {
  std::map<std::string, double> failed;
  kube::ApiRequest request{.target = "/metrics", .accept = "*/*"};
  auto answer = scene_.cluster().Run(scene_.cluster().client().Call(std::move(request)));
  if (!answer) return failed;
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);) {
    auto has = [&](const std::string& text) { return line.find(text) != std::string::npos; };
    if (line.starts_with(kRequests)) failed[kRequests] = 0;
    bool ours = has("." + scene_.ns() + ".") || has("\"pod-placement-") || has("\"validate-");
    bool ignored = line.starts_with("apiserver_admission_webhook_fail_open_count{") && ours;
    bool refused = line.starts_with("apiserver_admission_webhook_rejection_count{") && ours &&
                   !has("error_type=\"no_error\"");
    bool unconverted = line.starts_with("apiserver_crd_conversion_webhook_request_total{") &&
                       has("result=\"failure\"");
    if (ignored || refused || unconverted) {
      size_t end = line.rfind(' ');
      failed[line.substr(0, end)] = std::strtod(line.c_str() + end, nullptr);
    }
  }
  return failed;
}

Result<> AdmissionLoad::CheckCalls() {
  std::map<std::string, double> failed = FailedCalls();
  if (!failed.contains(kRequests)) return Error::Unavailable("the API server shows no metrics");
  for (const auto& [metric, count] : failed) {
    if (count > failed_before_[metric])
      return Error::Internal(metric + " has increased to " + std::to_string(count));
  }
  int seen = 0;
  for (const PodHistory* pod : scene_.pods().All()) {
    if (IsOperand(pod->last())) continue;
    ++seen;
    const Json& created = pod->events.front().pod;
    if (!HasGate(created, api::kLocalGate) || !HasGate(created, api::kClusterGate))
      return Error::Internal("pod " + pod->name + " was created without a gate");
  }
  if (seen != pods_) return Error::Internal("only " + std::to_string(seen) + " pods were seen");
  return Ok();
}

}  // namespace e2e
