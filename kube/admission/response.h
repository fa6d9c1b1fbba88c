// SPDX-License-Identifier: Apache-2.0
// AdmissionResponse: a webhook's answer to an AdmissionReview, as a value.
//
//   return AdmissionResponse::Patched(R"([{"op":"add","path":"/metadata/labels/a","value":"b"}])");
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kube {

class AdmissionResponse {
 public:
  static AdmissionResponse Allowed() { return AdmissionResponse(); }
  // Allowed, with the object changed by `json_patch` (RFC 6902). An empty patch is the same as
  // Allowed().
  static AdmissionResponse Patched(std::string json_patch);
  // Denies the request: `reason` is a Status reason ("Invalid", "Forbidden"), `message` is for the
  // user.
  static AdmissionResponse Denied(int code, std::string reason, std::string message);
  // The webhook failed: the API server denies the request or not, by the webhook's failurePolicy.
  static AdmissionResponse Errored(int code, std::string message);

  // Adds a warning, which kubectl prints. The API server truncates warnings to 256 characters.
  AdmissionResponse Warn(std::string warning) &&;

  bool allowed() const { return allowed_; }
  const std::string& patch() const { return patch_; }
  int code() const { return code_; }
  const std::string& reason() const { return reason_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  bool allowed_ = true;
  int code_ = 200;
  std::string reason_;
  std::string message_;
  std::string patch_;
  std::vector<std::string> warnings_;
};

// The AdmissionReview (admission.k8s.io/v1) that answers the request with `uid`.
std::string WriteReview(std::string_view uid, const AdmissionResponse& response);

}  // namespace kube
