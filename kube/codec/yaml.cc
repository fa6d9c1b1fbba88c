// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/yaml.h"

#include <yaml-cpp/yaml.h>

#include <charconv>

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
  if (auto parsed = std::from_chars(text.data(), end, integer); parsed.ec == std::errc() && parsed.ptr == end)
    return integer;
  double number = 0;
  bool numeric = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (auto parsed = std::from_chars(text.data(), end, number); numeric && parsed.ec == std::errc() && parsed.ptr == end)
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
    case YAML::NodeType::Scalar: return ScalarToJson(node);
    default: return nullptr;
  }
}

}  // namespace

Result<std::vector<Json>> ParseYamlDocuments(const std::string& text) {
  std::vector<Json> documents;
  try {
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      if (Json document = NodeToJson(node); !document.is_null()) documents.push_back(std::move(document));
    }
  } catch (const YAML::Exception& e) {
    return Error::Invalid(std::string("YAML: ") + e.what());
  }
  return documents;
}

}  // namespace kube
