// SPDX-License-Identifier: Apache-2.0
#include "console/answers/report.h"

#include <utility>

#include "api/architecture.h"
#include "console/answers/bounded_lines.h"
#include "plugin/inspect/image_finder.h"
#include "plugin/report/read_report.h"
#include "plugin/report/report_text.h"

namespace console {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;

// Of the lines of workloads; as JSON they have about twice as much.
constexpr size_t kMaxBytes = 4 * 1024 * 1024;

}  // namespace

Async<std::string> AnswerReport(const Question& question) {
  Result<std::string> ns = question.query.Namespace();
  if (!ns) co_return ns.error();
  std::string architecture = question.query.Get("architecture");
  if (architecture.empty()) architecture = "arm64";
  if (!api::IsArchitectureName(architecture))
    co_return Error::Invalid("the parameter architecture is no name of an architecture");
  plugin::ImageFinder finder(
      question.client, question.executor, question.clock,
      {.operator_namespace = question.operator_namespace, .asks_registries = false});
  const bool only_sums = question.query.Get("only") == "sums";
  const plugin::ByteBudget budget = BudgetFor(only_sums ? 0 : kMaxBytes, *ns);
  plugin::ReportQuestion asked{.ns = std::move(*ns),
                               .label_selector = question.query.Get("selector"),
                               .operator_namespace = question.operator_namespace,
                               .options = {.architecture = std::move(architecture),
                                           .owner_key = question.query.Get("owner"),
                                           .budget = budget}};
  Result<plugin::Report> report =
      co_await plugin::ReadReport(question.client, finder, std::move(asked));
  if (!report) co_return report.error();
  co_return plugin::AsJsonText(*report);
}

}  // namespace console
