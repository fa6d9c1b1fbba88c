// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/review.h"

#include <glog/logging.h>

#include <exception>
#include <memory>
#include <optional>

#include "kube/types/unstructured.h"

namespace kube {
namespace {

// The object at `path` as text; "" if absent or null.
std::string ObjectAt(const Json& request, std::string_view path) {
  const Json* object = Find(request, path);
  if (object == nullptr || !object->is_object()) return "";
  return DumpJson(*object);
}

Async<HttpReply> AnswerReview(std::shared_ptr<const AdmissionFunction> decide, HttpCall call) {
  Result<AdmissionRequest> request = ParseReview(call.body);
  if (!request) co_return FailureReply(400, request.error().message());
  std::string uid = request->uid;
  std::string about =
      request->operation + " " + request->kind + " " + request->ns + "/" + request->name;

  std::optional<AdmissionResponse> response;
  std::string failure;
  try {
    Result<AdmissionResponse> decided = co_await (*decide)(std::move(*request));
    if (decided) {
      response = std::move(*decided);
    } else {
      failure = decided.error().ToString();
    }
  } catch (const std::exception& e) {
    failure = std::string("unexpected exception: ") + e.what();
  }
  if (!response) {
    LOG(ERROR) << "admission of " << about << ": " << failure;
    response = AdmissionResponse::Errored(500, failure);
  }
  HttpReply reply;
  reply.body = WriteReview(uid, *response);
  co_return reply;
}

}  // namespace

Result<AdmissionRequest> ParseReview(std::string_view body) {
  Result<Json> review = ParseJson(body);
  if (!review) return review.error().Prefix("AdmissionReview");
  if (StringAt(*review, "kind") != "AdmissionReview" ||
      StringAt(*review, "apiVersion") != "admission.k8s.io/v1") {
    return Error::Invalid("not an AdmissionReview of admission.k8s.io/v1");
  }
  const Json* request = Find(*review, "request");
  if (request == nullptr || !request->is_object())
    return Error::Invalid("AdmissionReview without a request");
  AdmissionRequest out;
  out.uid = StringAt(*request, "uid");
  if (out.uid.empty()) return Error::Invalid("AdmissionReview without a request.uid");
  out.operation = StringAt(*request, "operation");
  out.ns = StringAt(*request, "namespace");
  out.name = StringAt(*request, "name");
  out.group = StringAt(*request, "kind.group");
  out.version = StringAt(*request, "kind.version");
  out.kind = StringAt(*request, "kind.kind");
  out.subresource = StringAt(*request, "subResource");
  out.user = StringAt(*request, "userInfo.username");
  out.user_json = ObjectAt(*request, "userInfo");
  out.dry_run = BoolAt(*request, "dryRun");
  out.object_json = ObjectAt(*request, "object");
  out.old_object_json = ObjectAt(*request, "oldObject");
  return out;
}

HttpHandler ReviewHandler(AdmissionFunction decide) {
  auto shared = std::make_shared<const AdmissionFunction>(std::move(decide));
  return [shared](HttpCall call) { return AnswerReview(shared, std::move(call)); };
}

}  // namespace kube
