// SPDX-License-Identifier: Apache-2.0
// ReviewParser: simdjson's view of an AdmissionReview's request, for webhooks that are called
// often: nothing is copied. Include it in .cc files only.
//
//   Result<dom::element> request = parser.Parse(body);
//   ...                                  // copy what is needed
//   parser.Shrink();                     // nothing of the request is used any more
//
// The parser needs about fifteen times the bytes of the largest review, and keeps that memory for
// the next ones; Shrink() frees what a rare large one needed. Thread: one.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

// A member of a JSON object. "" if absent or not a string.
std::string_view StringAt(simdjson::dom::element parent, std::string_view key);
// False if absent, null or of another type.
bool ObjectAt(simdjson::dom::element parent, std::string_view key, simdjson::dom::element& out);
bool ArrayAt(simdjson::dom::element parent, std::string_view key, simdjson::dom::array& out);

class ReviewParser {
 public:
  // The size of a review whose memory is kept.
  static constexpr size_t kKeptBytes = 64 * 1024;
  // Kubernetes' own limit is far lower. simdjson does not recurse, so the stack is safe at any
  // depth.
  static constexpr size_t kMaxDepth = 200;

  // The request of the review `body`, with a uid; valid until the next Parse() or Shrink().
  // kInvalid unless `body` is an AdmissionReview of admission.k8s.io/v1 with a request, and nothing
  // in it is nested deeper than kMaxDepth.
  Result<simdjson::dom::element> Parse(std::string_view body);
  void Shrink();

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace kube
