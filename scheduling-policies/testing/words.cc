// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/testing/words.h"

#include <glog/logging.h>

#include <sstream>

namespace policy {
namespace {

using kube::Json;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// "a", "z:1|2"
Json RequirementOf(const std::string& text) {
  size_t colon = text.find(':');
  if (colon == std::string::npos) return {{"key", text}, {"operator", "Exists"}};
  return {{"key", text.substr(0, colon)},
          {"operator", "In"},
          {"values", Split(text.substr(colon + 1), '|')}};
}

// "[a,b][f:n]"
Json TermsOf(const std::string& text) {
  Json terms = Json::array();
  for (const std::string& inner : Split(text, '[')) {
    Json term = Json::object();
    for (const std::string& one : Split(inner.substr(0, inner.find(']')), ',')) {
      Json requirement = RequirementOf(one);
      if (requirement["key"] == "f") {
        requirement["key"] = "metadata.name";
        term["matchFields"].push_back(requirement);
      } else {
        term["matchExpressions"].push_back(requirement);
      }
    }
    terms.push_back(term);
  }
  return terms;
}

// "k=v", "k==v", "k~30"
Json TolerationOf(const std::string& text) {
  Json toleration = Json::object();
  if (size_t tilde = text.find('~'); tilde != std::string::npos) {
    std::string key = text.substr(0, tilde);
    if (key == "not-ready" || key == "unreachable") key = "node.kubernetes.io/" + key;
    toleration = {{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}};
    if (tilde + 1 < text.size())
      toleration["tolerationSeconds"] = std::stoi(text.substr(tilde + 1));
    return toleration;
  }
  size_t equal = text.find('=');
  toleration["key"] = text.substr(0, equal);
  std::string value = text.substr(text.rfind('=') + 1);
  if (!value.empty()) toleration["value"] = value;
  if (text[equal + 1] == '=') toleration["operator"] = "Equal";
  return toleration;
}

// What is in the parentheses of "T(all)".
Json PodTermOf(const std::string& option) {
  Json term = {{"topologyKey", "kubernetes.io/hostname"}};
  term["labelSelector"]["matchLabels"] = {{"app", "x"}};
  if (option == "all") {
    term["namespaceSelector"] = Json::object();
  } else if (option == "keys") {
    term["matchLabelKeys"] = {"pod-template-hash"};
  } else if (!option.empty()) {
    term["namespaces"] = Split(option, '|');
  }
  return term;
}

// "T", "A5(all)"
void AddPodTerm(const std::string& word, Json& affinity) {
  size_t open = std::min(word.find('('), word.size());
  Json term = PodTermOf(open == word.size() ? "" : word.substr(open + 1, word.size() - open - 2));
  Json& kind = affinity[word[0] == 'T' ? "podAntiAffinity" : "podAffinity"];
  if (open == 1) {
    kind[kRequired].push_back(term);
  } else {
    kind[kPreferred].push_back(
        {{"weight", std::stoi(word.substr(1, open - 1))}, {"podAffinityTerm", term}});
  }
}

void AddWord(const std::string& word, Json& spec) {
  if (word == "-") return;
  if (word == "gate") {
    spec["schedulingGates"] = Json::array({{{"name", "example.com/gate"}}});
  } else if (word.starts_with("node=")) {
    spec["nodeName"] = word.substr(5);
  } else if (word.starts_with("sched=")) {
    spec["schedulerName"] = word.substr(6);
  } else if (word.starts_with("t(")) {
    spec["tolerations"].push_back(TolerationOf(word.substr(2, word.size() - 3)));
  } else if (word[0] == '[') {
    spec["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"] = TermsOf(word);
  } else if (word[0] == 'P') {
    size_t open = word.find('[');
    spec["affinity"]["nodeAffinity"][kPreferred].push_back(
        {{"weight", std::stoi(word.substr(1, open - 1))},
         {"preference", TermsOf(word.substr(open))[0]}});
  } else if (word[0] == 'T' || word[0] == 'A') {
    AddPodTerm(word, spec["affinity"]);
  } else {
    size_t colon = word.find(':');
    CHECK(colon != std::string::npos) << word;
    spec["nodeSelector"][word.substr(0, colon)] = word.substr(colon + 1);
  }
}

class Chooser {
 public:
  explicit Chooser(std::mt19937& random) : random_(random) {}

  // The modulo keeps the choice the same with every standard library.
  size_t Below(size_t bound) { return random_() % bound; }
  const char* One(std::initializer_list<const char*> words) {
    return *(words.begin() + Below(words.size()));
  }
  // True with a probability of one half.
  bool Coin() { return Below(2) == 0; }

 private:
  std::mt19937& random_;
};

std::string RandomTerms(Chooser& choose, bool with_empty) {
  std::string terms;
  for (size_t count = 1 + choose.Below(3); count > 0; --count) {
    std::string term;
    for (size_t size = 1 + choose.Below(3); size > 0; --size) {
      term += term.empty() ? "" : ",";
      term += choose.One({"a", "b", "c", "d", "z:1", "z:2", "z:1|2", "z:2|1", "f:n1", "f:n2"});
    }
    terms += with_empty && choose.Below(8) == 0 ? "[]" : "[" + term + "]";
  }
  return terms;
}

// What pods and policies both may have.
std::string RandomWords(Chooser& choose, bool with_empty) {
  std::string words;
  auto add = [&](const std::string& word) { words += " " + word; };
  if (choose.Coin()) add(RandomTerms(choose, with_empty));
  if (choose.Coin()) add(choose.One({"a:1", "a:2", "z:1", "example.com/pool:blue"}));
  if (choose.Below(4) == 0) add(choose.One({"k:v", "k:w"}));
  if (choose.Below(3) == 0) add(choose.One({"P9[a]", "P8[a]", "P9[a,b]", "P9[b,a]", "P100[z:1]"}));
  if (choose.Below(3) == 0) add(choose.One({"T", "T(all)", "T(1|2)", "T(2|1)", "T(keys)", "T5"}));
  if (choose.Below(3) == 0) add(choose.One({"A", "A(all)", "A7", "A8", "A8(all)"}));
  if (choose.Coin()) add(choose.One({"t(k=v)", "t(k==v)", "t(k~30)", "t(k~60)", "t(k~)", "t(l=)"}));
  if (choose.Below(3) == 0)
    add(choose.One({"t(not-ready~300)", "t(not-ready~3600)", "t(not-ready~)", "t(unreachable~9)"}));
  return words.empty() ? "-" : words.substr(1);
}

}  // namespace

Json SpecOf(const std::string& words) {
  Json spec = Json::object();
  for (const std::string& word : Split(words, ' ')) AddWord(word, spec);
  return spec;
}

Json PolicyJson(const std::string& words) {
  size_t space = std::min(words.find(' '), words.size());
  bool of_cluster = words[0] == 'C';
  const kube::Resource& kind = of_cluster ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies;
  Json json = {{"apiVersion", kind.ApiVersion()}, {"kind", std::string(kind.kind)}};
  json["metadata"]["name"] = space > 2 ? words.substr(2, space - 2) : "only";
  if (!of_cluster) json["metadata"]["namespace"] = "shop";
  json["spec"] = SpecOf(words.substr(space));
  json["spec"]["podSelector"] = Json::object();
  if (of_cluster) json["spec"]["namespaceSelector"] = Json::object();
  return json;
}

SchedulingPolicy PolicyOf(const std::string& words) {
  auto policy = SchedulingPolicy::FromJson(PolicyJson(words),
                                           words[0] == 'C' ? Scope::kCluster : Scope::kNamespace);
  CHECK(policy) << policy.error();
  CHECK(policy->problems.empty()) << words << ": " << api::Describe(policy->problems);
  return *policy;
}

std::string RandomPod(std::mt19937& random) {
  Chooser choose(random);
  std::string words = RandomWords(choose, true);
  switch (choose.Below(6)) {
    case 0:
      return words + " gate";
    case 1:
      return words + " node=n1";
    case 2:
      return words + " sched=other";
    default:
      return words + " sched=default-scheduler";
  }
}

std::string RandomPolicy(std::mt19937& random, const std::string& name) {
  Chooser choose(random);
  std::string words = name + " " + RandomWords(choose, false);
  if (choose.Below(6) == 0) words += choose.One({" node=n1", " node=n2"});
  if (choose.Below(4) == 0)
    words += choose.One({" sched=s", " sched=r", " sched=default-scheduler"});
  return words;
}

Json Patched(const Json& object, const std::string& patch) {
  if (patch.empty()) return object;
  kube::Result<Json> operations = kube::ParseJson(patch);
  CHECK(operations) << patch;
  try {
    return object.patch(*operations);
  } catch (const Json::exception& failure) {
    LOG(FATAL) << failure.what() << ": " << patch;
  }
}

}  // namespace policy
