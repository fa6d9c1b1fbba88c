// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/messages.h"

#include "kube/base/json_text.h"
#include "kube/base/one_line.h"
#include "kube/base/utf8.h"
#include "kube/types/unstructured.h"

namespace fleet::cel {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

// Reads the members of an object; remembers whether one has the wrong type.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object), wrong_(!object.is_object()) {}

  bool wrong() const { return wrong_; }
  bool Has(const char* name) const { return object_.is_object() && object_.contains(name); }
  bool Bool(const char* name) {
    const Json* value = Member(name, Json::value_t::boolean);
    return value != nullptr && value->get<bool>();
  }
  std::string Text(const char* name) {
    const Json* value = Member(name, Json::value_t::string);
    return value != nullptr ? value->get<std::string>() : "";
  }
  // The evaluator leaves an empty one out.
  std::string Error() {
    std::string line = kube::OneLine(Text("error"));
    wrong_ = wrong_ || (line.empty() && Has("error"));
    return std::string(kube::CutUtf8(line, kMaxErrorBytes));
  }
  // Reads a count of at most a billion.
  int64_t Count(const char* name) {
    constexpr int64_t kMax = 1'000'000'000;
    const Json* value = Has(name) ? &object_[name] : nullptr;
    if (value == nullptr) return 0;
    bool right = value->is_number_unsigned() && value->get<uint64_t>() <= kMax;
    wrong_ = wrong_ || !right;
    return right ? value->get<int64_t>() : 0;
  }
  const Json* Array(const char* name) { return Member(name, Json::value_t::array); }

 private:
  const Json* Member(const char* name, Json::value_t type) {
    if (!Has(name)) return nullptr;
    const Json& value = object_[name];
    if (value.type() == type) return &value;
    wrong_ = true;
    return nullptr;
  }

  const Json& object_;
  bool wrong_;
};

Error Wrong() { return Error::Invalid("not what an evaluator says"); }

}  // namespace

std::string CompileRequest(std::string_view text) {
  return R"({"compile":)" + kube::JsonString(text) + "}";
}

std::string EvaluateRequest(std::span<const Selector> selectors, const Limits& limits) {
  std::string request = R"({"evaluate":{"selectors":[)";
  for (const Selector& selector : selectors) {
    request += &selector == selectors.data() ? "[" : ",[";
    for (const std::string& expression : selector) {
      if (&expression != selector.data()) request += ',';
      kube::AppendJsonString(request, expression);
    }
    request += ']';
  }
  return request + R"(],"expressionCost":)" + std::to_string(limits.expression_cost) +
         R"(,"selectorCost":)" + std::to_string(limits.selector_cost) + R"(,"milliseconds":)" +
         std::to_string(limits.cpu_milliseconds) + "}}";
}

std::string ScoresReply(const Result<std::vector<Score>>& scores) {
  if (!scores) return R"({"error":)" + kube::JsonString(scores.error().message()) + "}";
  std::string reply = R"({"scores":[)";
  for (const Score& score : *scores) {
    if (reply.back() != '[') reply += ',';
    reply += R"({"name":)";
    kube::AppendJsonString(reply, score.name);
    reply += R"(,"value":)" + std::to_string(score.value) + '}';
  }
  return reply + "]}";
}

Result<Compiled> ParseCompiled(std::string_view frame) {
  Result<Json> parsed = kube::ParseJson(frame);
  if (!parsed) return parsed.error();
  Reader reader(*parsed);
  Compiled compiled;
  compiled.error = reader.Error();
  compiled.expression.any_scores = reader.Bool("anyScores");
  if (const Json* names = reader.Array("scores")) {
    for (const Json& name : *names) {
      if (!name.is_string()) return Wrong();
      compiled.expression.scores.push_back(name.get<std::string>());
    }
  }
  if (reader.wrong()) return Wrong();
  return compiled;
}

Result<EvaluateReply> ParseEvaluateReply(std::string_view frame) {
  Result<Json> parsed = kube::ParseJson(frame);
  if (!parsed) return parsed.error();
  Reader reader(*parsed);
  if (reader.Has("askScores")) {
    ScoresQuestion question{reader.Text("askScores")};
    if (reader.wrong()) return Wrong();
    return EvaluateReply(std::move(question));
  }
  const Json* verdicts = reader.Array("verdicts");
  if (verdicts == nullptr) return Wrong();
  std::vector<Evaluated> evaluated;
  for (const Json& verdict : *verdicts) {
    Reader one(verdict);
    evaluated.push_back({.match = one.Bool("match"),
                         .error = one.Error(),
                         .cpu = std::chrono::microseconds(one.Count("microseconds"))});
    if (one.wrong() || (evaluated.back().match && !evaluated.back().error.empty())) return Wrong();
  }
  return EvaluateReply(std::move(evaluated));
}

}  // namespace fleet::cel
