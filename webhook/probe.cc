// SPDX-License-Identifier: Apache-2.0
#include "webhook/probe.h"

#include <utility>

#include "api/webhook_probe.h"
#include "kube/admission/json_patch.h"
#include "kube/admission/response.h"
#include "kube/admission/review.h"
#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/base/json_text.h"
#include "kube/types/unstructured.h"

namespace webhook {
namespace {

using kube::AdmissionResponse;
using kube::Json;

AdmissionResponse Answer(const kube::AdmissionRequest& request, std::string_view operator_namespace,
                         const std::string& report) {
  bool of_the_operator = request.operation == "CREATE" && request.dry_run &&
                         request.subresource.empty() && request.ns == operator_namespace;
  if (!of_the_operator) return AdmissionResponse::Allowed();
  kube::Result<Json> object = kube::ParseJson(request.object_json);
  if (!object) return AdmissionResponse::Allowed();
  const Json* labels = kube::Find(*object, "metadata.labels");
  if (labels == nullptr || !labels->is_object()) return AdmissionResponse::Allowed();
  auto label = labels->find(std::string(api::kWebhookProbeLabel));
  if (label == labels->end() || !label->is_string()) return AdmissionResponse::Allowed();

  constexpr std::string_view kAnnotations = "/metadata/annotations";
  kube::JsonPatch patch;
  const Json* annotations = kube::Find(*object, "metadata.annotations");
  if (annotations == nullptr || !annotations->is_object()) patch.Add(kAnnotations, "{}");
  auto annotate = [&](std::string_view annotation, const std::string& value) {
    std::string pointer = std::string(kAnnotations) + "/" + kube::PointerToken(annotation);
    patch.Add(pointer, kube::JsonString(value));
  };
  annotate(api::kWebhookProbeAnnotation, label->get_ref<const std::string&>());
  if (!report.empty()) annotate(api::kWebhookReportAnnotation, report);
  return AdmissionResponse::Patched(std::move(patch).Take());
}

kube::Async<kube::HttpReply> AnswerLater(kube::HttpCall call, std::string operator_namespace,
                                         std::string report) {
  co_return AnswerProbe(call, operator_namespace, report);
}

}  // namespace

kube::HttpReply AnswerProbe(const kube::HttpCall& call, std::string_view operator_namespace,
                            const std::string& report) {
  if (call.body.size() > kMaxProbeReview) {
    return kube::FailureReply(413, "the review of a probe may have at most " +
                                       std::to_string(kMaxProbeReview) + " bytes");
  }
  kube::Result<kube::AdmissionRequest> request = kube::ParseReview(call.body);
  if (!request) return kube::FailureReply(400, request.error().message());
  kube::HttpReply reply;
  reply.body = kube::WriteReview(request->uid, Answer(*request, operator_namespace, report));
  return reply;
}

void AddProbe(kube::HttpsServer& server, std::string operator_namespace,
              std::function<std::string()> report) {
  server.Handle("POST", std::string(api::kWebhookProbePath),
                [ns = std::move(operator_namespace), report = std::move(report)](
                    kube::HttpCall call) { return AnswerLater(std::move(call), ns, report()); });
}

}  // namespace webhook
