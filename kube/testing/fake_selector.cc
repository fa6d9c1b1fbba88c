// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_selector.h"

namespace kube {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool IsListed(std::string_view list, const std::string& value) {
  list = Trim(list);
  if (list.starts_with('(')) list.remove_prefix(1);
  if (list.ends_with(')')) list.remove_suffix(1);
  for (std::string_view item : SplitSelector(list)) {
    if (item == value) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> SplitSelector(std::string_view selector) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= selector.size(); ++i) {
    if (i < selector.size() && selector[i] == '(') ++depth;
    if (i < selector.size() && selector[i] == ')') --depth;
    if (i < selector.size() && (selector[i] != ',' || depth > 0)) continue;
    std::string_view part = Trim(selector.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

bool ParseEquality(std::string_view text, SelectorTerm& term) {
  size_t at = text.find('=');
  if (at == std::string_view::npos) return false;
  std::string_view key = text.substr(0, at);
  std::string_view value = text.substr(at + 1);
  term.negated = key.ends_with('!');
  if (term.negated) key.remove_suffix(1);
  if (value.starts_with('=')) value.remove_prefix(1);
  term.key = Trim(key);
  term.value = Trim(value);
  return true;
}

bool MatchesLabel(const google::protobuf::Map<std::string, std::string>& labels,
                  std::string_view text) {
  SelectorTerm term;
  if (ParseEquality(text, term)) {
    auto label = labels.find(term.key);
    return (label != labels.end() && label->second == term.value) != term.negated;
  }
  size_t word = text.find(" in ");
  size_t negated_word = text.find(" notin ");
  if (negated_word != std::string_view::npos) {
    auto label = labels.find(std::string(Trim(text.substr(0, negated_word))));
    return label == labels.end() || !IsListed(text.substr(negated_word + 7), label->second);
  }
  if (word != std::string_view::npos) {
    auto label = labels.find(std::string(Trim(text.substr(0, word))));
    return label != labels.end() && IsListed(text.substr(word + 4), label->second);
  }
  if (text.starts_with('!')) return !labels.contains(std::string(Trim(text.substr(1))));
  return labels.contains(std::string(text));
}

}  // namespace kube
