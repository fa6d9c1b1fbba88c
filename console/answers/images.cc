// SPDX-License-Identifier: Apache-2.0
#include "console/answers/images.h"

#include <utility>
#include <vector>

#include "console/answers/each_object.h"
#include "exec-format/findings/image_finding.h"
#include "image-facts/fact_scope.h"
#include "image-facts/image_fact.h"
#include "image-facts/image_facts.h"
#include "kube/client/typed.h"
#include "plugin/pod/answer_parts.h"

namespace console {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;

constexpr size_t kMaxImages = 500;
// A few objects at a time: each may have 256 KiB.
constexpr int kObjectsOfPage = 4;

// For people.
std::string DescribeScope(std::string_view scope) {
  if (scope.empty()) return "";
  if (scope == image_facts::kWholeCluster) return "with credentials of the cluster";
  const image_facts::ScopeParts parts = image_facts::PartsOf(scope);
  return "with pull secrets of " + parts.ns;
}

Json LineOf(const image_facts::StoredFact& fact) {
  Json platforms = Json::array();
  std::string text = fact.platforms == nullptr ? "" : image_facts::PlatformsToText(*fact.platforms);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    platforms.push_back(text.substr(0, end));
    text.erase(0, end + 1);
  }
  return {{"image", fact.line.image},
          {"digest", fact.line.digest},
          {"platforms", std::move(platforms)},
          {"read", kube::FormatTime(fact.line.read)},
          {"scope", DescribeScope(fact.scope)}};
}

Json LineOf(const exec_format::ImageFinding& finding) {
  return {{"image", finding.image},
          {"digest", finding.digest},
          {"architecture", finding.architecture},
          {"evidence", exec_format::Describe(finding)},
          {"namespace", finding.ns},
          {"ignored", finding.ignored},
          {"seen", kube::FormatTime(finding.seen)}};
}

}  // namespace

Async<std::string> AnswerImages(const Question& question) {
  const std::string search = question.query.Get("search");
  Json images = Json::array();
  size_t total = 0;
  std::vector<plugin::Unread> unread;
  kube::ListOptions options{.ns = question.operator_namespace, .limit = kObjectsOfPage};
  const VisitObject visit = [&](const Json& object) {
    image_facts::ForEachFact(object, [&](const image_facts::StoredFact& fact) {
      if (fact.line.image.find(search) == std::string_view::npos) return;
      if (total++ < kMaxImages) images.push_back(LineOf(fact));
    });
  };
  constexpr kube::Resource kFacts = kube::ResourceOf<image_facts::ImageFacts>::value;
  Result<> read = co_await ForEachObject(question.client, kFacts, std::move(options), visit);
  if (!read && !IsNotFound(read))
    unread.push_back({"what is known of images", read.error().message()});
  Json findings = Json::array();
  kube::ListOptions of_findings{.ns = question.operator_namespace};
  auto found =
      co_await kube::List<exec_format::ImageFinding>(question.client, std::move(of_findings));
  if (!found && !IsNotFound(found)) unread.push_back({"image findings", found.error().message()});
  if (found) {
    for (const exec_format::ImageFinding& finding : found->items) {
      if (finding.image.find(search) != std::string::npos) findings.push_back(LineOf(finding));
    }
  }
  const Json answer = {{"images", std::move(images)},
                       {"total", total},
                       {"findings", std::move(findings)},
                       {"unread", plugin::AsJson(unread)}};
  co_return kube::DumpJson(answer);
}

}  // namespace console
