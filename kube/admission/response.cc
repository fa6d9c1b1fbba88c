// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/response.h"

#include "kube/base/base64.h"
#include "kube/base/json_text.h"

namespace kube {

AdmissionResponse AdmissionResponse::Patched(std::string json_patch) {
  AdmissionResponse response;
  response.patch_ = std::move(json_patch);
  return response;
}

AdmissionResponse AdmissionResponse::Denied(int code, std::string reason, std::string message) {
  AdmissionResponse response;
  response.allowed_ = false;
  response.code_ = code;
  response.reason_ = std::move(reason);
  response.message_ = std::move(message);
  return response;
}

AdmissionResponse AdmissionResponse::Errored(int code, std::string message) {
  return Denied(code, code >= 500 ? "InternalError" : "BadRequest", std::move(message));
}

AdmissionResponse AdmissionResponse::Warn(std::string warning) && {
  warnings_.push_back(std::move(warning));
  return std::move(*this);
}

std::string WriteReview(std::string_view uid, const AdmissionResponse& response) {
  std::string out;
  out.reserve(256 + response.patch().size() * 4 / 3);
  out += R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":)";
  AppendJsonString(out, uid);
  out += response.allowed() ? R"(,"allowed":true)" : R"(,"allowed":false)";
  if (!response.patch().empty()) {
    out += R"(,"patchType":"JSONPatch","patch":")";
    out += Base64Encode(response.patch());
    out += '"';
  }
  if (!response.allowed()) {
    out += R"(,"status":{"status":"Failure","code":)" + std::to_string(response.code()) +
           R"(,"reason":)";
    AppendJsonString(out, response.reason());
    out += R"(,"message":)";
    AppendJsonString(out, response.message());
    out += "}";
  }
  if (!response.warnings().empty()) {
    out += R"(,"warnings":[)";
    for (const std::string& warning : response.warnings()) {
      if (&warning != &response.warnings().front()) out += ",";
      AppendJsonString(out, warning);
    }
    out += "]";
  }
  out += "}}";
  return out;
}

}  // namespace kube
