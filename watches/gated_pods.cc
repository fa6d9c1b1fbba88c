// SPDX-License-Identifier: Apache-2.0
#include "watches/gated_pods.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/codec/fields.h"

namespace watches {
namespace {

using kube::Error;
using kube::FieldReader;
using kube::Ok;
using kube::Result;
using kube::core::Pod;
using kube::core::PodSchedulingGate;
using kube::core::PodSpec;
using kube::meta::ObjectMeta;

Error NoPod() { return Error::Invalid("the pod is not valid protobuf"); }

Result<bool> HasGate(std::string_view spec, const std::vector<std::string>& gates) {
  FieldReader fields(spec);
  while (fields.Next()) {
    if (fields.number() != PodSpec::kSchedulingGatesFieldNumber) continue;
    FieldReader of_gate(fields.bytes());
    while (of_gate.Next()) {
      if (of_gate.number() != PodSchedulingGate::kNameFieldNumber) continue;
      if (std::find(gates.begin(), gates.end(), of_gate.bytes()) != gates.end()) return true;
    }
  }
  if (fields.broken()) return NoPod();
  return false;
}

void AppendMessage(int number, const std::string& message, std::string& out) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  coded.WriteVarint32(static_cast<uint32_t>(message.size()));
  coded.WriteString(message);
}

Result<void> AppendWithoutManagedFields(std::string_view metadata, std::string& out) {
  std::string rest;
  FieldReader fields(metadata);
  while (fields.Next()) {
    if (fields.number() != ObjectMeta::kManagedFieldsFieldNumber) rest += fields.whole();
  }
  if (fields.broken()) return NoPod();
  AppendMessage(Pod::kMetadataFieldNumber, rest, out);
  return Ok();
}

// Works on the bytes, without parsing: most pods of a watch do not have these gates, or no longer.
Result<std::optional<std::string>> PackGatedPod(std::string_view pod,
                                                const std::vector<std::string>& gates) {
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
      Result<bool> has_gate = HasGate(fields.bytes(), gates);
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

// Only the fields that identify the pod, and its gates.
std::string StubOfPod(std::string_view pod, const std::vector<std::string>& gates) {
  std::string metadata;
  std::string spec;
  FieldReader fields(pod);
  while (fields.Next()) {
    FieldReader inner(fields.bytes());
    while (fields.number() == Pod::kMetadataFieldNumber && inner.Next()) {
      switch (inner.number()) {
        case ObjectMeta::kNameFieldNumber:
        case ObjectMeta::kGenerateNameFieldNumber:
        case ObjectMeta::kNamespaceFieldNumber:
        case ObjectMeta::kUidFieldNumber:
        case ObjectMeta::kResourceVersionFieldNumber:
          metadata += inner.whole();
          break;
        default:
          break;
      }
    }
    while (fields.number() == Pod::kSpecFieldNumber && inner.Next()) {
      if (inner.number() != PodSpec::kSchedulingGatesFieldNumber) continue;
      std::string alone(inner.whole());
      Result<bool> has_gate = HasGate(alone, gates);
      if (has_gate && *has_gate) spec += alone;
    }
  }
  std::string stub;
  AppendMessage(Pod::kMetadataFieldNumber, metadata, stub);
  AppendMessage(Pod::kSpecFieldNumber, spec, stub);
  return stub;
}

// 64 KiB is a hundred times the usual size of a pod. This cache is the largest part of a process:
// the memory limit of the cluster controller is 256 MiB, that of a shard 64 MiB.
constexpr size_t kLargePod = 64 * 1024;
constexpr size_t kNamespaceBytes = 16 * 1024 * 1024;
constexpr size_t kClusterBytes = 48 * 1024 * 1024;

}  // namespace

kube::InformerOptions<Pod> GatedPods(std::string ns, std::vector<std::string_view> gates) {
  std::vector<std::string> names(gates.begin(), gates.end());
  auto pack = [names](std::string_view pod) { return PackGatedPod(pod, names); };
  auto stub = [names](std::string_view pod) { return StubOfPod(pod, names); };
  kube::CacheBudget budget{.object = kLargePod,
                           .one_namespace = kNamespaceBytes,
                           .total = ns.empty() ? kClusterBytes : kNamespaceBytes};
  return {.ns = std::move(ns),
          .field_selector = kUnscheduledPods,
          .pack = pack,
          .budget = budget,
          .stub = stub};
}

}  // namespace watches
