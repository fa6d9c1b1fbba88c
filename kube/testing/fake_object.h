// SPDX-License-Identifier: Apache-2.0
// FakeObject: an API object as a FakeStore stores it: in the encoding in which it was written, and
// in the other one once that was asked for. Immutable but for SetMetadata(), and cheap to copy:
// copies share their content.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/testing/wire_kinds.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace kube {

class FakeObject {
 public:
  // From the body of a request for `collection`. kInvalid if it does not parse.
  static Result<FakeObject> Parse(std::string_view collection, std::string_view content_type,
                                  std::string_view body);

  // Whether it was written as protobuf.
  bool protobuf() const { return content_->protobuf; }
  const std::string& kind() const { return content_->kind; }

  meta::ObjectMeta metadata() const;
  // Writes the server's fields (name, namespace, uid, resourceVersion, generation, the two
  // timestamps) of a JSON object, and all of `metadata` of a protobuf object.
  void SetMetadata(const meta::ObjectMeta& metadata);

  // The object as JSON.
  // Errors: 406 for protobuf of a kind that WireKinds() lacks, kInvalid for what does not fit its
  // message; so too below.
  Result<std::shared_ptr<const Json>> AsJson() const;
  // The object with the content `json`, in the encoding of this one.
  Result<FakeObject> WithJson(Json json) const;

  // The object with the status of `other`, in the encoding of this one. The object itself for a
  // kind in protobuf without a status.
  Result<FakeObject> WithStatusOf(const FakeObject& other) const;

  // Matches a field selector; kInvalid for a field that the kind does not support.
  Result<bool> MatchesFields(std::string_view selector) const;
  bool MatchesLabels(std::string_view selector) const;

  // The object without an envelope: a bare message, or JSON text.
  Result<std::string> Bare(bool as_protobuf) const;
  // The body of a GET response: with its envelope, or JSON text.
  Result<std::string> Body(bool as_protobuf) const;

  // True for the same content, also in the other encoding, and with maps in another order.
  bool operator==(const FakeObject& other) const;

 private:
  struct Content {
    bool protobuf = false;
    const WireKind* wire = nullptr;  // null for a kind that exists as JSON only
    std::string api_version;
    std::string kind;
    // At least one of them is set; the other one when it was asked for.
    std::optional<std::string> bytes;
    std::shared_ptr<const Json> json;
  };

  explicit FakeObject(Content content);
  // The message of `json`.
  static Result<std::string> Encoded(const Content& content, const Json& json);
  Result<std::string_view> AsBytes() const;

  std::shared_ptr<Content> content_;
};

// "k8s\0" + Unknown{type, raw}.
std::string SealFakeEnvelope(std::string_view api_version, std::string_view kind, std::string raw);

}  // namespace kube
