// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/requirement_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

// docs/reference.md, Limits: architectures in the requirement of a pod.
constexpr size_t kMostArchitectures = 32;
const Architectures& OfBundles() {
  static const auto& all = *new Architectures{"amd64", "arm64", "ppc64le", "s390x"};
  return all;
}

// docs/reference.md, Names of architectures.
std::string Normalized(const std::string& name) {
  static const auto& names = *new std::map<std::string, std::string>{
      {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i386", "386"},
      {"i686", "386"},     {"armhf", "arm"},     {"armel", "arm"}};
  auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

std::map<std::string, Architectures> BySystem(const Image& image) {
  std::map<std::string, Architectures> by_system;
  for (const ImagePlatform& platform : image.platforms) {
    std::string architecture = Normalized(platform.architecture);
    if (platform.os != "unknown" && IsArchitecture(architecture))
      by_system[platform.os].insert(std::move(architecture));
  }
  return by_system;
}

Architectures Both(const Architectures& a, const Architectures& b) {
  Architectures both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

Architectures First(Architectures all) {
  while (all.size() > kMostArchitectures) all.erase(std::prev(all.end()));
  return all;
}

std::set<std::string> ValuesOf(const Json& expression) {
  std::set<std::string> values;
  for (const Json& value : kube::ListAt(expression, "values")) {
    if (value.is_string()) values.insert(value.get<std::string>());
  }
  return values;
}

// The operating systems that a pod allows in one of its terms.
struct Systems {
  std::set<std::string> named;
  // By more than spec.os, of which the scheduler takes no notice.
  bool selected = false;
  bool not_judged = false;
};

Systems SystemsOf(const Json& pod, const Json& term) {
  Systems systems;
  std::string of_spec = kube::StringAt(pod, "spec.os.name");
  if (!of_spec.empty()) systems.named.insert(std::move(of_spec));
  if (const Json* selected = NodeSelectorValue(pod, api::kOsLabel)) {
    systems.named.insert(selected->is_string() ? selected->get<std::string>() : "");
    systems.selected = true;
  }
  for (const Json& expression : kube::ListAt(term, "matchExpressions")) {
    if (kube::StringAt(expression, "key") != api::kOsLabel) continue;
    std::set<std::string> values = ValuesOf(expression);
    if (kube::StringAt(expression, "operator") != "In" || values.size() != 1)
      systems.not_judged = true;
    systems.named.merge(values);
    systems.selected = true;
  }
  if (systems.named.size() > 1) systems.not_judged = true;
  return systems;
}

TermAnswer AnswerFor(const Json& pod, const Json& term, const Common& common,
                     std::string& not_judged) {
  Systems systems = SystemsOf(pod, term);
  if (systems.not_judged) not_judged = "several operating systems";
  if (common.every) return {.architectures = OfBundles()};
  std::string system = systems.named.empty() ? "linux" : *systems.named.begin();
  TermAnswer answer;
  if (systems.named.empty() && !common.by_system.contains(system) && !common.by_system.empty()) {
    if (common.by_system.size() > 1) not_judged = "images of several systems, and not of linux";
    system = common.by_system.begin()->first;
    answer.systems = {system};
  }
  auto found = common.by_system.find(system);
  if (found == common.by_system.end()) return {};
  answer.architectures = First(found->second);
  if (!systems.named.empty() && !systems.selected && system != "linux") answer.systems = {system};
  return answer;
}

// Before a term is made.
const Json& NewTerm() {
  static const auto& term = *new Json(Json::object());
  return term;
}

bool IsEmptyTerm(const Json& term) {
  return kube::ListAt(term, "matchExpressions").empty() &&
         kube::ListAt(term, "matchFields").empty();
}

// Calls `make` for each term that gets a requirement.
template <typename Make>
RequirementAnswer RequireInTerms(const Json& before, Make make) {
  RequirementAnswer answer;
  const Json& terms = RequiredTermsOf(before);
  if (terms.empty()) answer.terms.push_back(make(NewTerm()));
  for (const Json& term : terms) {
    if (IsEmptyTerm(term)) answer.not_judged = "an empty required term";
    if (HasExpressionOn(term, api::kArchLabel)) {
      answer.terms.push_back(std::nullopt);
    } else {
      answer.terms.push_back(make(term));
    }
  }
  for (const std::optional<TermAnswer>& term : answer.terms) {
    if (term) answer.architectures.insert(term->architectures.begin(), term->architectures.end());
  }
  answer.labels[std::string(api::kNodeAffinityLabel)] = api::kSet;
  return answer;
}

void SetArchitectureLabels(RequirementAnswer& answer) {
  if (answer.architectures.empty()) {
    answer.labels[std::string(api::kNoSupportedArchLabel)] = "";
    return;
  }
  bool single = answer.architectures.size() == 1;
  answer.labels[std::string(single ? api::kSingleArchLabel : api::kMultiArchLabel)] = "";
  for (const std::string& architecture : answer.architectures)
    answer.labels[std::string(api::kLabelPrefix) + architecture] = "";
}

using Expressions = std::multiset<std::string>;

std::string ExpressionText(std::string_view key, const std::string& op,
                           const std::set<std::string>& values) {
  std::string text = std::string(key) + " " + op;
  for (const std::string& value : values) text += " " + value;
  return text;
}

Expressions Wanted(const TermAnswer& answer) {
  if (answer.architectures.empty())
    return {ExpressionText(api::kNoSupportedArchLabel, "Exists", {})};
  Expressions wanted;
  if (!answer.only_systems)
    wanted.insert(ExpressionText(api::kArchLabel, "In", answer.architectures));
  if (!answer.systems.empty()) wanted.insert(ExpressionText(api::kOsLabel, "In", answer.systems));
  return wanted;
}

// The expressions that the term `after` has behind those of `before`.
std::vector<Json> AppendedTo(const Json& before, const Json& after) {
  const size_t known = kube::ListAt(before, "matchExpressions").size();
  const Json& all = kube::ListAt(after, "matchExpressions");
  std::vector<Json> appended;
  for (size_t i = known; i < all.size(); ++i) appended.push_back(all[i]);
  return appended;
}

Expressions Appended(const Json& before, const Json& after) {
  Expressions appended;
  for (const Json& expression : AppendedTo(before, after))
    appended.insert(ExpressionText(kube::StringAt(expression, "key"),
                                   kube::StringAt(expression, "operator"), ValuesOf(expression)));
  return appended;
}

std::string Join(const Expressions& expressions) {
  std::string text;
  for (const std::string& expression : expressions)
    text += (text.empty() ? "\"" : ", \"") + expression + "\"";
  return text.empty() ? "nothing" : text;
}

// The labels of a pod that tell of the requirement.
std::map<std::string, std::string> RequirementLabels(const Json& pod) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : LabelsOf(pod).items()) {
    if (!key.starts_with(api::kLabelPrefix) || !value.is_string()) continue;
    bool is_one = key == api::kNodeAffinityLabel || key == api::kSingleArchLabel ||
                  key == api::kMultiArchLabel || key == api::kNoSupportedArchLabel ||
                  key == api::kFallbackArchLabel ||
                  IsArchitecture(std::string_view(key).substr(api::kLabelPrefix.size()));
    if (is_one) labels[key] = value.get<std::string>();
  }
  return labels;
}

std::string LabelsText(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    text += (text.empty() ? "" : ", ") + key.substr(api::kLabelPrefix.size());
    if (!value.empty()) text += "=" + value;
  }
  return text.empty() ? "none" : text;
}

bool IsTolerated(const Json& toleration, const std::string& key, const std::string& value,
                 const std::string& effect) {
  std::string of_effect = kube::StringAt(toleration, "effect");
  std::string of_key = kube::StringAt(toleration, "key");
  std::string op = kube::StringAt(toleration, "operator", "Equal");
  if (!of_effect.empty() && of_effect != effect) return false;
  if (op == "Exists") return of_key.empty() || of_key == key;
  return of_key == key && kube::StringAt(toleration, "value") == value;
}

}  // namespace

Common CommonOf(const std::vector<Image>& images) {
  Common common{.every = true};
  for (const Image& image : images) {
    if (image.bundle) continue;
    std::map<std::string, Architectures> own = BySystem(image);
    if (std::exchange(common.every, false)) {
      common.by_system = std::move(own);
      continue;
    }
    for (auto& [system, architectures] : common.by_system)
      architectures = Both(architectures, own[system]);
    std::erase_if(common.by_system, [](const auto& entry) { return entry.second.empty(); });
  }
  return common;
}

std::vector<PodImage> ImagesOf(const Json& pod) {
  std::map<std::string, PodImage> images;
  auto add = [&](const std::string& reference, const std::string& policy, bool volume) {
    if (reference.empty()) return;
    auto [known, is_new] = images.try_emplace(
        reference, PodImage{reference, policy == "Always", policy == "Never", volume});
    if (is_new) return;
    known->second.always_pull |= policy == "Always";
    known->second.never_pull &= policy == "Never";
    known->second.volume &= volume;
  };
  for (const char* list : {"spec.initContainers", "spec.containers"}) {
    for (const Json& container : kube::ListAt(pod, list))
      add(kube::StringAt(container, "image"), kube::StringAt(container, "imagePullPolicy"), false);
  }
  for (const Json& volume : kube::ListAt(pod, "spec.volumes"))
    add(kube::StringAt(volume, "image.reference"), kube::StringAt(volume, "image.pullPolicy"),
        true);
  std::vector<PodImage> sorted;
  for (auto& [reference, image] : images) sorted.push_back(std::move(image));
  return sorted;
}

RequirementAnswer RequireNothing(const Json& before) {
  RequirementAnswer answer;
  answer.terms.resize(RequiredTermsOf(before).size());
  answer.labels[std::string(api::kNodeAffinityLabel)] = api::kNotSet;
  return answer;
}

RequirementAnswer Require(const Json& before, const Common& common) {
  std::string not_judged;
  RequirementAnswer answer = RequireInTerms(
      before, [&](const Json& term) { return AnswerFor(before, term, common, not_judged); });
  if (!not_judged.empty()) answer.not_judged = not_judged;
  SetArchitectureLabels(answer);
  return answer;
}

std::set<Common> CommonsRequiredBy(const Json& before, const Json& after) {
  Common common;
  const Json& terms = RequiredTermsOf(before);
  const Json& now = RequiredTermsOf(after);
  for (size_t i = 0; i < now.size(); ++i) {
    const Json& term = i < terms.size() ? terms[i] : NewTerm();
    std::set<std::string> systems = SystemsOf(before, term).named;
    Architectures architectures;
    for (const Json& expression : AppendedTo(term, now[i])) {
      const std::string key = kube::StringAt(expression, "key");
      if (key == api::kArchLabel) architectures = ValuesOf(expression);
      if (key == api::kOsLabel) systems = ValuesOf(expression);
    }
    if (architectures.empty()) continue;
    if (systems.empty()) systems = {"linux"};
    for (const std::string& system : systems) common.by_system[system] = architectures;
  }
  return {std::move(common), {.every = true}};
}

RequirementAnswer RequireFallback(const Json& before, const std::string& fallback) {
  RequirementAnswer answer;
  if (IsArchitecture(fallback)) {
    answer = RequireInTerms(before,
                            [&](const Json&) { return TermAnswer{.architectures = {fallback}}; });
    answer.labels[std::string(api::kFallbackArchLabel)] = fallback;
  } else {
    answer = RequireNothing(before);
  }
  answer.architectures.clear();
  return answer;
}

RequirementAnswer Narrow(const Json& before, const std::set<size_t>& terms,
                         const std::optional<Common>& common) {
  RequirementAnswer answer;
  const Json& required = RequiredTermsOf(before);
  answer.terms.resize(required.size());
  Architectures was, is;
  bool narrower = false;
  for (size_t i : terms) {
    if (i >= required.size()) continue;
    if (HasExpressionOn(required[i], api::kNoSupportedArchLabel)) continue;
    std::optional<Architectures> known;
    for (const Json& expression : kube::ListAt(required[i], "matchExpressions")) {
      if (kube::StringAt(expression, "key") != api::kArchLabel) continue;
      Architectures values = ValuesOf(expression);
      known = known ? Both(*known, values) : std::move(values);
    }
    if (!known) continue;
    was.insert(known->begin(), known->end());
    TermAnswer now{.architectures = *known};
    if (common) {
      now = AnswerFor(before, required[i], *common, answer.not_judged);
      now.architectures = Both(now.architectures, *known);
    }
    is.insert(now.architectures.begin(), now.architectures.end());
    now.only_systems = now.architectures == *known;
    if (now.only_systems && now.systems.empty()) continue;
    narrower = true;
    answer.terms[i] = std::move(now);
  }
  answer.architectures = is;
  answer.labels = RequirementLabels(before);
  if (!narrower) return answer;
  for (const std::string& architecture : was)
    answer.removed_labels.insert(std::string(api::kLabelPrefix) + architecture);
  for (std::string_view label : {api::kSingleArchLabel, api::kMultiArchLabel})
    answer.removed_labels.insert(std::string(label));
  for (const std::string& label : answer.removed_labels) answer.labels.erase(label);
  SetArchitectureLabels(answer);
  return answer;
}

std::string DiffersFrom(const RequirementAnswer& answer, const Json& before, const Json& after) {
  const Json& terms = RequiredTermsOf(before);
  const Json& now = RequiredTermsOf(after);
  if (now.size() != answer.terms.size()) {
    return "has " + std::to_string(now.size()) + " required terms instead of " +
           std::to_string(answer.terms.size());
  }
  for (size_t i = 0; i < now.size(); ++i) {
    Expressions appended = Appended(i < terms.size() ? terms[i] : NewTerm(), now[i]);
    Expressions wanted = answer.terms[i] ? Wanted(*answer.terms[i]) : Expressions();
    if (appended != wanted) return "required " + Join(appended) + " instead of " + Join(wanted);
  }
  std::map<std::string, std::string> labels = RequirementLabels(before);
  for (const std::string& label : answer.removed_labels) labels.erase(label);
  for (const auto& [key, value] : answer.labels) labels[key] = value;
  std::map<std::string, std::string> found = RequirementLabels(after);
  if (found != labels)
    return "set the labels " + LabelsText(found) + " instead of " + LabelsText(labels);
  return "";
}

std::multiset<std::string> TolerationsFor(const TolerationPlugin& plugin, const Json& before,
                                          const Architectures& architectures) {
  std::multiset<std::string> added;
  if (!plugin.enabled) return added;
  const Json& tolerations = TolerationsOf(before);
  for (const std::string& architecture : architectures) {
    for (const std::string& effect : plugin.effects) {
      bool tolerated =
          std::any_of(tolerations.begin(), tolerations.end(), [&](const Json& toleration) {
            return IsTolerated(toleration, plugin.key, architecture, effect);
          });
      if (!tolerated) added.insert(plugin.key + "=" + architecture + ":" + effect);
    }
  }
  return added;
}

std::multiset<std::string> AddedTolerations(const Json& before, const Json& after) {
  std::multiset<std::string> added;
  std::map<std::string, int> known;
  for (const Json& toleration : TolerationsOf(before)) ++known[kube::DumpJson(toleration)];
  for (const Json& toleration : TolerationsOf(after)) {
    if (--known[kube::DumpJson(toleration)] >= 0) continue;
    added.insert(kube::StringAt(toleration, "key") + "=" + kube::StringAt(toleration, "value") +
                 ":" + kube::StringAt(toleration, "effect"));
  }
  return added;
}

}  // namespace sim::checker
