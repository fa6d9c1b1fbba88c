// SPDX-License-Identifier: Apache-2.0
#include "kube/cache/waiting_pods.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <optional>
#include <utility>

#include "kube/codec/fields.h"

namespace kube {
namespace {

using core::Pod;
using core::PodSchedulingGate;
using core::PodSpec;
using meta::ObjectMeta;

Error NoPod() { return Error::Invalid("a pod that does not parse"); }

Result<bool> HasGate(std::string_view spec, std::string_view gate) {
  FieldReader fields(spec);
  while (fields.Next()) {
    if (fields.number() != PodSpec::kSchedulingGatesFieldNumber) continue;
    FieldReader of_gate(fields.bytes());
    while (of_gate.Next()) {
      if (of_gate.number() == PodSchedulingGate::kNameFieldNumber && of_gate.bytes() == gate) return true;
    }
  }
  if (fields.broken()) return NoPod();
  return false;
}

Result<void> AppendWithoutManagedFields(std::string_view metadata, std::string& out) {
  using google::protobuf::internal::WireFormatLite;
  std::string rest;
  FieldReader fields(metadata);
  while (fields.Next()) {
    if (fields.number() != ObjectMeta::kManagedFieldsFieldNumber) rest += fields.whole();
  }
  if (fields.broken()) return NoPod();
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(WireFormatLite::MakeTag(Pod::kMetadataFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  coded.WriteVarint32(static_cast<uint32_t>(rest.size()));
  coded.WriteString(rest);
  return Ok();
}

// Decides and cuts on the bytes: most pods that a watch brings do not wait for this gate, or not any more.
Result<std::optional<std::string>> PackGatedPod(std::string_view pod, std::string_view gate) {
  std::string packed;
  bool gated = false;
  FieldReader fields(pod);
  while (fields.Next()) {
    if (fields.number() == Pod::kStatusFieldNumber) continue;
    if (fields.number() == Pod::kMetadataFieldNumber) {
      Result<void> appended = AppendWithoutManagedFields(fields.bytes(), packed);
      if (!appended) return appended.error();
      continue;
    }
    if (fields.number() == Pod::kSpecFieldNumber) {
      Result<bool> has_gate = HasGate(fields.bytes(), gate);
      if (!has_gate) return has_gate.error();
      gated |= *has_gate;
    }
    packed += fields.whole();
  }
  if (fields.broken()) return NoPod();
  if (!gated) return std::optional<std::string>();
  packed.shrink_to_fit();
  return std::optional<std::string>(std::move(packed));
}

}  // namespace

InformerOptions<Pod> GatedPods(std::string ns, std::string_view gate) {
  auto pack = [gate = std::string(gate)](std::string_view pod) { return PackGatedPod(pod, gate); };
  return {.ns = std::move(ns), .field_selector = kWaitingPods, .pack = pack};
}

}  // namespace kube
