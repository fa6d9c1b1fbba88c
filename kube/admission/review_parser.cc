// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/review_parser.h"

#include <string>

namespace kube {

namespace dom = simdjson::dom;

std::string_view StringAt(dom::element parent, std::string_view key) {
  std::string_view value;
  return parent[key].get(value) == simdjson::SUCCESS ? value : std::string_view();
}

bool ObjectAt(dom::element parent, std::string_view key, dom::element& out) {
  return parent[key].get(out) == simdjson::SUCCESS && out.is_object();
}

bool ArrayAt(dom::element parent, std::string_view key, dom::array& out) {
  return parent[key].get(out) == simdjson::SUCCESS;
}

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
  if (!ObjectAt(root, "request", request))
    return Error::Invalid("AdmissionReview without a request");
  if (StringAt(request, "uid").empty())
    return Error::Invalid("AdmissionReview without a request.uid");
  return request;
}

void ReviewParser::Shrink() {
  if (parser_ != nullptr && parser_->capacity() > kKeptBytes) parser_.reset();
}

}  // namespace kube
