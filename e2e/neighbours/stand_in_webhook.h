// SPDX-License-Identifier: Apache-2.0
// StandInWebhook: an admission webhook for pods of the scene's namespace, as another product has
// one. It is served on the cluster's event loop.
//
//   auto webhook = StandInWebhook::Start(scene(), {.name = "z", .decide = AddSidecar});
//   Flow(...).Await((*webhook)->InForce()).Do(Create(MakePod("web")...
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "e2e/framework/flow.h"
#include "kube/admission/response.h"
#include "kube/admission/review.h"
#include "kube/base/task_group.h"
#include "kube/server/https_server.h"

namespace e2e {

class StandInWebhook {
 public:
  struct Options {
    // The start of its configuration's name: the API server calls mutating webhooks in the order of
    // these names.
    std::string name;
    bool mutating = true;
    // Of pods: CREATE, UPDATE.
    std::vector<std::string> operations = {"CREATE"};
    std::function<kube::AdmissionResponse(const kube::AdmissionRequest&)> decide;
  };

  // Writes the configuration, with failurePolicy Fail and reinvocationPolicy IfNeeded.
  static kube::Result<std::unique_ptr<StandInWebhook>> Start(Scene& scene, Options options);
  // Deletes the configuration.
  ~StandInWebhook();

  // The API server calls the webhook for new pods.
  Condition InForce();
  // The calls for the pod `name`, dry runs not counted.
  int CallsAbout(const std::string& name) const;

 private:
  StandInWebhook(Scene& scene, Options options);
  kube::Result<> Serve();
  kube::Json Configuration() const;
  kube::Async<kube::AdmissionResponse> Decide(kube::AdmissionRequest request);

  Scene& scene_;
  Options options_;
  std::string ca_pem_;
  std::unique_ptr<kube::HttpsServer> server_;
  std::map<std::string, int> calls_;
  bool called_in_dry_run_ = false;
  kube::TaskGroup tasks_;
};

}  // namespace e2e
