// SPDX-License-Identifier: Apache-2.0
#include "operator/namespaces.h"

#include <utility>

#include "api/names.h"
#include "kube/codec/codec.h"
#include "placement/selector.h"

namespace operator_ {
namespace {

using kube::Result;
using kube::core::Namespace;

Result<std::optional<std::string>> PackNamespace(std::string_view message) {
  Namespace whole;
  Result<void> parsed = kube::ParseMessage(message, whole);
  if (!parsed) return parsed.error();
  Namespace kept;
  kept.mutable_metadata()->set_name(whole.metadata().name());
  *kept.mutable_metadata()->mutable_labels() = whole.metadata().labels();
  return std::optional<std::string>(kept.SerializeAsString());
}

}  // namespace

Namespaces::Namespaces(kube::Client& client, kube::Clock& clock, api::ExcludedNamespaces excluded)
    : excluded_(std::move(excluded)), namespaces_(client, clock, {.pack = PackNamespace}) {}

void Namespaces::OnNamespace(std::function<void(const std::string& ns)> listener) {
  namespaces_.OnChange([listener = std::move(listener)](
                           kube::EventType, const kube::ObjectKey& key) { listener(key.name); });
}

void Namespaces::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-namespaces", namespaces_.Run());
}

std::optional<bool> Namespaces::Selects(const std::optional<kube::meta::LabelSelector>& selector,
                                        const std::string& ns) const {
  std::optional<Namespace> found = namespaces_.Get({"", ns});
  if (!found) return std::nullopt;
  if (excluded_.Excludes(ns, found->metadata().labels())) return false;
  if (!selector) return true;
  Result<bool> matches = placement::Matches(*selector, found->metadata().labels());
  return matches && *matches;
}

bool Namespaces::OptsOut(const std::string& ns) const {
  std::optional<Namespace> found = namespaces_.Get({"", ns});
  return found && found->metadata().labels().contains(std::string(api::kExcludeLabel));
}

}  // namespace operator_
