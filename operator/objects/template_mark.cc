// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/template_mark.h"

#include <array>
#include <utility>

#include "operator/objects/hash.h"

namespace operator_ {
namespace {

using kube::Json;
using Replaced = TemplateMark::Replaced;

constexpr std::array<std::pair<Replaced, std::string_view>, 3> kReplaced = {
    {{Replaced::kNothing, "new"}, {Replaced::kBroken, "broken"}, {Replaced::kRunning, "running"}}};

}  // namespace

std::optional<TemplateMark> MarkOf(const Json& deployment) {
  // The key has dots, so it is not found by a path.
  const Json* annotations = kube::Find(deployment, "metadata.annotations");
  if (annotations == nullptr || !annotations->is_object()) return std::nullopt;
  auto found = annotations->find(std::string(kTemplateAnnotation));
  if (found == annotations->end() || !found->is_string()) return std::nullopt;
  std::string text = found->get<std::string>();
  size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  for (const auto& [replaced, word] : kReplaced) {
    if (text.substr(space + 1) == word) return TemplateMark{text.substr(0, space), replaced};
  }
  return std::nullopt;
}

std::string TemplateHash(const Json& deployment) {
  const Json* pods = kube::Find(deployment, "spec.template");
  return HashOf(pods == nullptr ? "" : kube::DumpJson(*pods));
}

void SetMark(Json& deployment, const TemplateMark& mark) {
  std::string text = mark.hash + " ";
  for (const auto& [replaced, word] : kReplaced) {
    if (replaced == mark.replaced) text += word;
  }
  deployment["metadata"]["annotations"][std::string(kTemplateAnnotation)] = std::move(text);
}

bool MarkTemplate(Json& deployment, bool exists, const std::optional<TemplateMark>& current,
                  bool runs) {
  TemplateMark mark{TemplateHash(deployment)};
  bool replaces = exists && !(current && current->hash == mark.hash);
  if (replaces) {
    mark.replaced = runs ? Replaced::kRunning : Replaced::kBroken;
  } else if (exists) {
    mark.replaced = current->replaced;
  }
  SetMark(deployment, mark);
  return replaces;
}

}  // namespace operator_
