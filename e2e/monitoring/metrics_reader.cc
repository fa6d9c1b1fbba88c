// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/metrics_reader.h"

#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

using kube::Json;
using kube::Result;

namespace {

constexpr const char* kAccount = "metrics-reader";

}  // namespace

Result<std::string> NewToken(Scene& scene, const std::string& account) {
  Json service_account = {
      {"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", account}}}};
  auto created = scene.Create(kServiceAccounts, service_account);
  if (!created) return created.error();
  kube::ApiRequest request{
      .method = kube::Method::kPost,
      .target = kServiceAccounts.Path(scene.ns(), account, "token"),
      .content_type = std::string(kube::kJson),
      .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})"};
  auto answer = scene.cluster().Run(scene.cluster().client().Call(std::move(request)));
  if (!answer) return answer.error();
  Result<Json> json = kube::ParseJson(answer->body);
  if (!json) return json.error();
  return kube::StringAt(*json, "status.token");
}

Result<std::unique_ptr<MetricsReader>> MetricsReader::Make(Scene& scene) {
  Result<std::string> token = NewToken(scene, kAccount);
  if (!token) return token.error();
  std::unique_ptr<MetricsReader> reader(new MetricsReader(scene, std::move(*token)));
  Json binding = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                  {"kind", "ClusterRoleBinding"},
                  {"metadata", {{"name", reader->BindingName()}}},
                  {"roleRef",
                   {{"apiGroup", "rbac.authorization.k8s.io"},
                    {"kind", "ClusterRole"},
                    {"name", "multiarch-tuning-operator-metrics-reader"}}}};
  binding["subjects"] =
      Json::array({{{"kind", "ServiceAccount"}, {"name", kAccount}, {"namespace", scene.ns()}}});
  auto created = scene.Create(kClusterRoleBindings, binding);
  if (!created) return created.error();
  return reader;
}

MetricsReader::~MetricsReader() {
  kube::IgnoreError(scene_.Delete(kClusterRoleBindings, BindingName()), "it may be absent");
}

}  // namespace e2e
