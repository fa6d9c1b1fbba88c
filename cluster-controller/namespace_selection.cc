// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/namespace_selection.h"

#include <utility>

#include "kube/client/typed.h"
#include "placement/selector.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Code;
using kube::Result;
using kube::core::Namespace;

// With more than this, idle entries are dropped.
constexpr size_t kMaxReads = 64;

}  // namespace

Async<bool> NamespaceSelection::IsSelected(std::string ns,
                                           std::optional<kube::meta::LabelSelector> selector) {
  Result<std::optional<bool>> decided = co_await Decide(std::move(ns), std::move(selector));
  if (!decided) co_return decided.error();
  co_return decided->value_or(true);
}

Async<std::optional<bool>> NamespaceSelection::Decide(
    std::string ns, std::optional<kube::meta::LabelSelector> selector) {
  std::optional<bool> unknown;
  Result<Shared> read = co_await ReadOf(ns).Call();
  if (FailedWith(read, Code::kPermissionDenied)) co_return unknown;
  if (!read) co_return read.error().Prefix("read the namespace " + ns);
  if (*read == nullptr) co_return unknown;
  if (excluded_.Excludes(ns, (*read)->metadata().labels())) co_return std::optional(false);
  if (!selector) co_return std::optional(true);
  Result<bool> matches = placement::Matches(*selector, (*read)->metadata().labels());
  co_return matches ? std::optional(*matches) : unknown;
}

Async<NamespaceSelection::Shared> NamespaceSelection::Read(std::string ns) {
  kube::ObjectKey key{"", ns};
  Result<Namespace> read = co_await kube::Get<Namespace>(client_, key);
  if (IsNotFound(read)) co_return Shared();
  if (!read) co_return read.error();
  co_return std::make_shared<const Namespace>(std::move(*read));
}

kube::SharedCall<NamespaceSelection::Shared>& NamespaceSelection::ReadOf(const std::string& ns) {
  if (reads_.size() >= kMaxReads)
    std::erase_if(reads_, [](auto& read) { return read.second.idle(); });
  return reads_.try_emplace(ns, [this, ns] { return Read(ns); }).first->second;
}

}  // namespace cluster_controller
