// SPDX-License-Identifier: Apache-2.0
#include "console/answers/why.h"

#include <optional>
#include <utility>

#include "plugin/config/why_config.h"
#include "plugin/pod/why_pod.h"
#include "plugin/read/read_config.h"
#include "plugin/read/read_pod.h"
#include "plugin/read/read_workload.h"
#include "plugin/status/read_status.h"
#include "plugin/workload/why_workload.h"

namespace console {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

Result<kube::ObjectKey> KeyIn(const Query& query) {
  Result<std::string> ns = query.RequiredName("namespace");
  if (!ns) return ns.error();
  Result<std::string> name = query.RequiredName("name");
  if (!name) return name.error();
  return kube::ObjectKey{std::move(*ns), std::move(*name)};
}

}  // namespace

Async<std::string> AnswerStatus(const Question& question) {
  Result<std::string> ns = question.query.Namespace();
  if (!ns) co_return ns.error();
  Result<plugin::StatusEvidence> evidence =
      co_await plugin::ReadStatus(question.client, question.clock, std::move(*ns));
  if (!evidence) co_return evidence.error();
  co_return kube::DumpJson(plugin::AsJson(plugin::StatusOf(*evidence)));
}

Async<std::string> AnswerWhyPod(const Question& question) {
  Result<kube::ObjectKey> key = KeyIn(question.query);
  if (!key) co_return key.error();
  std::string operator_namespace = question.operator_namespace;
  Result<plugin::PodEvidence> evidence = co_await plugin::ReadPod(
      question.client, question.clock, std::move(*key), std::move(operator_namespace));
  if (!evidence) co_return evidence.error();
  co_return kube::DumpJson(plugin::WhyPodAsJson(*evidence));
}

Async<std::string> AnswerWhyConfig(const Question& question) {
  Result<kube::ObjectKey> key = KeyIn(question.query);
  if (!key) co_return key.error();
  std::string operator_namespace = question.operator_namespace;
  Result<plugin::ConfigEvidence> evidence =
      co_await plugin::ReadConfig(question.client, std::move(*key), std::move(operator_namespace));
  if (!evidence) co_return evidence.error();
  co_return kube::DumpJson(plugin::WhyConfigAsJson(*evidence));
}

Async<std::string> AnswerWhyWorkload(const Question& question) {
  const std::string kind = question.query.Get("kind");
  const std::optional<kube::Resource> resource = plugin::FindWorkloadKind(kind);
  if (!resource) co_return Error::Invalid("the parameter kind is no workload: " + kind);
  Result<kube::ObjectKey> key = KeyIn(question.query);
  if (!key) co_return key.error();
  std::string operator_namespace = question.operator_namespace;
  Result<plugin::WorkloadEvidence> evidence = co_await plugin::ReadWorkload(
      question.client, question.clock, *resource, std::move(*key), std::move(operator_namespace));
  if (!evidence) co_return evidence.error();
  co_return kube::DumpJson(plugin::WhyWorkloadAsJson(*evidence));
}

}  // namespace console
