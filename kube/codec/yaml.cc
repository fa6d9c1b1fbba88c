// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>

namespace kube {
namespace {

// YAML 1.2 core schema; quoted scalars carry the tag "!".
Json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text == "true") return true;
  if (text == "false") return false;
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (auto parsed = std::from_chars(text.data(), end, integer);
      parsed.ec == std::errc() && parsed.ptr == end)
    return integer;
  double number = 0;
  bool numeric = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (auto parsed = std::from_chars(text.data(), end, number);
      numeric && parsed.ec == std::errc() && parsed.ptr == end)
    return number;
  return text;
}

Json NodeToJson(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map: {
      Json object = Json::object();
      for (const auto& entry : node) object[entry.first.Scalar()] = NodeToJson(entry.second);
      return object;
    }
    case YAML::NodeType::Sequence: {
      Json array = Json::array();
      for (const auto& entry : node) array.push_back(NodeToJson(entry));
      return array;
    }
    case YAML::NodeType::Scalar:
      return ScalarToJson(node);
    default:
      return nullptr;
  }
}

// Checks the limits before any value is built, by throwing yaml-cpp's exception: the scanner finds
// documents without end in some malformed texts, and nested aliases grow exponentially.
class LimitCheck final : public YAML::EventHandler {
 public:
  // EventHandler
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > kMaxDocuments) throw YAML::ParserException(mark, "too many documents");
    anchors_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add(mark, anchor, {}); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto meant = anchors_.find(anchor);
    if (meant == anchors_.end())
      throw YAML::ParserException(mark, "an alias inside of its own anchor");
    Add(mark, YAML::NullAnchor, meant->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    Add(mark, anchor, {});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(mark, anchor);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(mark, anchor);
  }
  void OnMapEnd() override { End(); }

 private:
  static constexpr size_t kMaxDocuments = 1000;
  static constexpr size_t kMaxNodes = 1'000'000;
  static constexpr size_t kMaxDepth = 200;
  // The size of a value after alias expansion.
  struct Size {
    size_t nodes = 1;
    size_t levels = 0;
  };
  struct Open {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    Size size;
  };

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Size value) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = value;
    if (open_.size() + value.levels > kMaxDepth)
      throw YAML::ParserException(mark, "nested too deep");
    Size& all = open_.empty() ? total_ : open_.back().size;
    all.nodes += value.nodes;
    all.levels = std::max(all.levels, value.levels + 1);
    if (all.nodes > kMaxNodes) throw YAML::ParserException(mark, "too many values");
  }
  void Begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() == kMaxDepth) throw YAML::ParserException(mark, "nested too deep");
    open_.push_back({mark, anchor, {.nodes = 1, .levels = 1}});
  }
  void End() {
    Open closed = open_.back();
    open_.pop_back();
    Add(closed.mark, closed.anchor, closed.size);
  }

  size_t documents_ = 0;
  Size total_;
  std::map<YAML::anchor_t, Size> anchors_;
  std::vector<Open> open_;
};

// A text that is one in every version of YAML: a word, a name or a path.
bool IsPlainText(const std::string& text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  // Words for true, false and null in YAML 1.1, in small letters.
  constexpr std::string_view kOther[] = {"true", "false", "yes", "no",  "on",
                                         "off",  "y",     "n",   "null"};
  if (text.empty() || kLetters.find(text.front()) == std::string_view::npos) return false;
  if (text.back() == ':' || text.find(": ") != std::string::npos) return false;
  if (text.find_first_not_of(std::string(kLetters) + "0123456789-_./:") != std::string::npos)
    return false;
  std::string small = text;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(kOther), std::end(kOther), small) == std::end(kOther);
}

void Emit(const Json& json, YAML::Emitter& out) {
  switch (json.type()) {
    case Json::value_t::object:
      if (json.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& [key, value] : json.items()) {
        out << YAML::Key;
        Emit(Json(key), out);
        out << YAML::Value;
        Emit(value, out);
      }
      out << YAML::EndMap;
      return;
    case Json::value_t::array:
      if (json.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const Json& item : json) Emit(item, out);
      out << YAML::EndSeq;
      return;
    case Json::value_t::string: {
      const std::string& text = json.get_ref<const std::string&>();
      if (!IsPlainText(text)) out << YAML::DoubleQuoted;
      out << text;
      return;
    }
    case Json::value_t::boolean:
      out << json.get<bool>();
      return;
    case Json::value_t::number_integer:
      out << json.get<int64_t>();
      return;
    case Json::value_t::number_unsigned:
      out << json.get<uint64_t>();
      return;
    case Json::value_t::number_float:
      out << json.get<double>();
      return;
    default:
      out << YAML::Null;
  }
}

}  // namespace

Result<std::vector<Json>> ParseYamlDocuments(const std::string& text) {
  std::vector<Json> documents;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    LimitCheck limits;
    while (parser.HandleNextDocument(limits)) {
    }
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      if (Json document = NodeToJson(node); !document.is_null())
        documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    return Error::Invalid(std::string("YAML: ") + e.what());
  }
  return documents;
}

std::string ToYaml(const Json& json) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  Emit(json, out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace kube
