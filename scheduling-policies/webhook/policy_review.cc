// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_review.h"

#include <simdjson.h>

#include <optional>
#include <utility>

#include "kube/admission/review_parser.h"
#include "scheduling-policies/merge.h"

namespace policy {
namespace {

namespace dom = simdjson::dom;
using kube::Json;
using kube::ObjectAt;
using kube::StringAt;

// Recurses: the parser has refused what is nested deeper than ReviewParser::kMaxDepth.
Json ToJson(dom::element element) {
  switch (element.type()) {
    case dom::element_type::OBJECT: {
      Json object = Json::object();
      for (dom::key_value_pair field : dom::object(element))
        object[std::string(field.key)] = ToJson(field.value);
      return object;
    }
    case dom::element_type::ARRAY: {
      Json array = Json::array();
      for (dom::element item : dom::array(element)) array.push_back(ToJson(item));
      return array;
    }
    case dom::element_type::STRING:
      return std::string(std::string_view(element));
    case dom::element_type::INT64:
      return int64_t(element);
    case dom::element_type::UINT64:
      return uint64_t(element);
    case dom::element_type::DOUBLE:
      return double(element);
    case dom::element_type::BOOL:
      return bool(element);
    case dom::element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

void CopyMember(dom::element from, std::string_view key, Json& to) {
  dom::element member;
  if (from[key].get(member) == simdjson::SUCCESS) to[std::string(key)] = ToJson(member);
}

// The size as compact JSON; 0 if absent.
size_t SizeOf(dom::element parent, std::string_view key) {
  dom::element member;
  return parent[key].get(member) == simdjson::SUCCESS ? simdjson::minify(member).size() : 0;
}

// The controller alone: FindTarget() asks for no other owner.
void CopyController(dom::element metadata, Json& to) {
  dom::array owners;
  if (metadata["ownerReferences"].get(owners) != simdjson::SUCCESS) return;
  for (dom::element owner : owners) {
    bool controls = false;
    if (owner["controller"].get(controls) != simdjson::SUCCESS || !controls) continue;
    to["ownerReferences"] = Json::array({ToJson(owner)});
    return;
  }
}

// What FindTarget() and PodLabels() read of the metadata of an object or a pod template.
void CopyMetadata(dom::element from, Json& to, bool& too_large) {
  constexpr char kMirror[] = "kubernetes.io/config.mirror";
  dom::element metadata;
  if (!ObjectAt(from, "metadata", metadata)) return;
  Json& copy = to["metadata"] = Json::object();
  too_large = too_large || SizeOf(metadata, "labels") > kMaxSchedulingBytes;
  if (!too_large) CopyMember(metadata, "labels", copy);
  CopyMember(metadata, "deletionTimestamp", copy);
  CopyController(metadata, copy);
  dom::element annotations;
  if (ObjectAt(metadata, "annotations", annotations)) {
    copy["annotations"] = Json::object();
    CopyMember(annotations, kMirror, copy["annotations"]);
  }
}

// `pod`: the dotted path of the pod or pod template.
Json Reduced(dom::element object, std::string_view pod, bool whole_template, bool& too_large) {
  Json reduced = Json::object();
  CopyMetadata(object, reduced, too_large);
  dom::element from = object;
  Json* to = &reduced;
  while (!pod.empty()) {
    std::string_view step = pod.substr(0, pod.find('.'));
    pod.remove_prefix(std::min(step.size() + 1, pod.size()));
    if (!ObjectAt(from, step, from)) return reduced;
    to = &((*to)[std::string(step)] = Json::object());
    if (pod.empty() && whole_template) {
      *to = ToJson(from);
      return reduced;
    }
    if (pod.empty()) CopyMetadata(from, *to, too_large);
  }
  dom::element spec;
  if (!ObjectAt(from, "spec", spec)) return reduced;
  Json& copy = (*to)["spec"] = Json::object();
  size_t bytes = 0;
  for (std::string_view field : kMergedFields) bytes += SizeOf(spec, field);
  too_large = too_large || bytes > kMaxSchedulingBytes;
  if (too_large) return reduced;
  for (std::string_view field : kMergedFields) CopyMember(spec, field, copy);
  return reduced;
}

}  // namespace

Request ReviewHeader::ToRequest() const {
  return {.group = group,
          .resource = resource,
          .subresource = subresource,
          .operation = operation,
          .ns = ns,
          .user = user};
}

Request PolicyReview::ToRequest() const {
  Request request = ReviewHeader::ToRequest();
  if (object.is_object()) request.object = &object;
  if (old_object.is_object()) request.old_object = &old_object;
  return request;
}

struct PolicyReviewReader::Parsed {
  ReviewHeader header;
  dom::element request;  // valid until the parser is used again
};

PolicyReviewReader::PolicyReviewReader(bool whole_templates)
    : whole_templates_(whole_templates), parser_(std::make_unique<kube::ReviewParser>()) {}
PolicyReviewReader::~PolicyReviewReader() = default;

kube::Result<PolicyReviewReader::Parsed> PolicyReviewReader::Parse(std::string_view body) {
  kube::Result<dom::element> request_of = parser_->Parse(body);
  if (!request_of) return request_of.error();
  dom::element request = *request_of;
  Parsed parsed{.header = {}, .request = request};
  ReviewHeader& header = parsed.header;
  header.uid = StringAt(request, "uid");
  dom::element resource;
  if (ObjectAt(request, "resource", resource)) {
    header.group = StringAt(resource, "group");
    header.resource = StringAt(resource, "resource");
  }
  header.subresource = StringAt(request, "subResource");
  header.operation = StringAt(request, "operation");
  header.ns = StringAt(request, "namespace");
  dom::element user;
  if (ObjectAt(request, "userInfo", user)) header.user = StringAt(user, "username");
  return parsed;
}

kube::Result<ReviewHeader> PolicyReviewReader::ReadHeader(std::string_view body) {
  kube::Result<Parsed> parsed = Parse(body);
  parser_->Shrink();
  if (!parsed) return parsed.error();
  return std::move(parsed->header);
}

kube::Result<PolicyReview> PolicyReviewReader::Read(std::string_view body) {
  kube::Result<Parsed> parsed = Parse(body);
  kube::Result<PolicyReview> review =
      parsed ? kube::Result<PolicyReview>(ReadObjects(std::move(*parsed))) : parsed.error();
  parser_->Shrink();
  return review;
}

PolicyReview PolicyReviewReader::ReadObjects(Parsed parsed) const {
  dom::element request = parsed.request;
  PolicyReview review;
  static_cast<ReviewHeader&>(review) = std::move(parsed.header);
  review.name = StringAt(request, "name");

  std::optional<std::string_view> pod = PodPathOf(review.group, review.resource);
  if (!pod) return review;
  dom::element object;
  dom::element old_object;
  bool has_object = ObjectAt(request, "object", object);
  bool whole_template = whole_templates_ && review.operation == "UPDATE" && !pod->empty() &&
                        has_object && ObjectAt(request, "oldObject", old_object) &&
                        SizeOf(request, "object") <= kMaxSchedulingBytes &&
                        SizeOf(request, "oldObject") <= kMaxSchedulingBytes;
  if (has_object) review.object = Reduced(object, *pod, whole_template, review.too_large);
  bool ignored = false;
  if (whole_template) review.old_object = Reduced(old_object, *pod, whole_template, ignored);
  return review;
}

}  // namespace policy
