// SPDX-License-Identifier: Apache-2.0
#include "operator/node_taints/architecture_taint.h"

#include <vector>

#include "api/names.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"
#include "kube/types/meta.pb.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::FieldReader;
using kube::Result;

// The numbers of fields of core/v1.
constexpr int kMetadata = 1;
constexpr int kSpec = 2;
constexpr int kTaints = 5;
constexpr int kTaintKey = 1;
constexpr int kTaintValue = 2;
constexpr int kTaintEffect = 3;

Error NoNode() { return Error::Invalid("the node is not valid protobuf"); }

struct Taint {
  std::string_view key;
  std::string_view value;
  std::string_view effect;
};

// nullopt for malformed bytes.
std::optional<Taint> TaintOf(std::string_view bytes) {
  Taint taint;
  FieldReader fields(bytes);
  while (fields.Next()) {
    if (fields.number() == kTaintKey) taint.key = fields.bytes();
    if (fields.number() == kTaintValue) taint.value = fields.bytes();
    if (fields.number() == kTaintEffect) taint.effect = fields.bytes();
  }
  if (fields.broken()) return std::nullopt;
  return taint;
}

bool Repels(const Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

}  // namespace

std::string ArchitectureTaint::ToString() const {
  return std::string(api::kArchLabel) + "=" + architecture + ":" + effect;
}

Result<std::optional<ArchitectureTaint>> FindArchitectureTaint(std::string_view node) {
  std::string_view metadata;
  std::string_view spec;
  FieldReader fields(node);
  while (fields.Next()) {
    if (fields.number() == kMetadata) metadata = fields.bytes();
    if (fields.number() == kSpec) spec = fields.bytes();
  }
  if (fields.broken()) return NoNode();

  std::vector<Taint> taints;
  FieldReader of_spec(spec);
  while (of_spec.Next()) {
    if (of_spec.number() != kTaints) continue;
    std::optional<Taint> taint = TaintOf(of_spec.bytes());
    if (!taint) return NoNode();
    if (taint->key == api::kArchLabel && Repels(*taint)) taints.push_back(*taint);
  }
  if (of_spec.broken()) return NoNode();
  std::optional<ArchitectureTaint> found;
  if (taints.empty()) return found;

  kube::meta::ObjectMeta parsed;
  Result<void> valid = kube::ParseMessage(metadata, parsed);
  if (!valid) return valid.error();
  auto architecture = parsed.labels().find(std::string(api::kArchLabel));
  if (architecture == parsed.labels().end()) return found;
  for (const Taint& taint : taints) {
    if (taint.value != architecture->second) continue;
    return std::optional(ArchitectureTaint{.node = parsed.name(),
                                           .architecture = architecture->second,
                                           .effect = std::string(taint.effect)});
  }
  return found;
}

}  // namespace operator_
