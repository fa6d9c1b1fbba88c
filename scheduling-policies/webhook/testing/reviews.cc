// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/testing/reviews.h"

#include <utility>

namespace policy {

using kube::Json;

Json Workload(const std::string& words, const std::string& app, int containers) {
  Json workload = {{"metadata", {{"name", "web"}, {"namespace", "shop"}}}};
  Json& pod = workload["spec"]["template"];
  pod["metadata"]["labels"] = {{"app", app}, {"tier", "front"}, {"release", "7"}};
  pod["spec"] = SpecOf(words);
  pod["spec"]["containers"] = Json::array();
  for (int i = 0; i < containers; ++i) {
    Json container = {{"name", "c" + std::to_string(i)},
                      {"image", "registry.example.com/team/app:1.2.3"},
                      {"resources", {{"requests", {{"cpu", "100m"}, {"memory", "128Mi"}}}}},
                      {"securityContext", {{"allowPrivilegeEscalation", false}}}};
    for (int variable = 0; variable < 20; ++variable) {
      container["env"].push_back(
          {{"name", "VARIABLE_" + std::to_string(variable)}, {"value", "some value of it"}});
    }
    pod["spec"]["containers"].push_back(std::move(container));
  }
  return workload;
}

Json ObjectOf(const std::string& resource, const std::string& words) {
  Json workload = Workload(words);
  if (resource == "pods") {
    Json pod = workload["spec"]["template"];
    pod["metadata"].update({{"name", "web"}, {"namespace", "shop"}});
    return pod;
  }
  if (resource == "batch/cronjobs") {
    Json cron_job = {{"metadata", workload["metadata"]}};
    cron_job["spec"]["jobTemplate"] = {{"spec", workload["spec"]}};
    return cron_job;
  }
  return workload;
}

Json ReviewOf(const std::string& resource, const std::string& operation, Json object) {
  size_t slash = resource.find('/');
  bool core = slash == std::string::npos;
  Json request = {{"uid", kReviewUid}, {"operation", operation}};
  request["resource"] = {{"group", core ? "" : resource.substr(0, slash)},
                         {"version", "v1"},
                         {"resource", core ? resource : resource.substr(slash + 1)}};
  request["name"] = object["metadata"]["name"];
  request["namespace"] = object["metadata"]["namespace"];
  request["object"] = std::move(object);
  return {{"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", request}};
}

}  // namespace policy
