// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/review_parser.h"

#include <string>

namespace kube {
namespace {

namespace dom = simdjson::dom;

// "" if absent or not a string.
std::string_view StringAt(dom::element parent, std::string_view key) {
  std::string_view value;
  return parent[key].get(value) == simdjson::SUCCESS ? value : std::string_view();
}

}  // namespace

Result<dom::element> ReviewParser::Parse(std::string_view body) {
  Shrink();
  if (parser_ == nullptr) {
    parser_ = std::make_unique<dom::parser>();
    if (parser_->allocate(kKeptBytes, kMaxDepth) != simdjson::SUCCESS)
      return Error::Internal("out of memory");
  }
  dom::element root;
  simdjson::error_code error = parser_->parse(body.data(), body.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return Error::Invalid(std::string("AdmissionReview is not valid JSON: ") +
                          simdjson::error_message(error));
  }
  if (StringAt(root, "kind") != "AdmissionReview" ||
      StringAt(root, "apiVersion") != "admission.k8s.io/v1")
    return Error::Invalid("not an AdmissionReview of admission.k8s.io/v1");
  dom::element request;
  if (root["request"].get(request) != simdjson::SUCCESS || !request.is_object())
    return Error::Invalid("AdmissionReview without a request");
  if (StringAt(request, "uid").empty())
    return Error::Invalid("AdmissionReview without a request.uid");
  return request;
}

void ReviewParser::Shrink() {
  if (parser_ != nullptr && parser_->capacity() > kKeptBytes) parser_.reset();
}

}  // namespace kube
