// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

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

}  // namespace kube
