// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/json_patch.h"

#include "kube/base/json_text.h"

namespace kube {

namespace {

// Most patches are smaller.
constexpr size_t kReserved = 512;

}  // namespace

void JsonPatch::Append(std::string_view op, std::string_view path, std::string_view value) {
  if (text_.empty()) text_.reserve(kReserved);
  text_ += text_.empty() ? R"([{"op":")" : R"(,{"op":")";
  text_ += op;
  text_ += R"(","path":)";
  AppendJsonString(text_, path);
  if (!value.empty()) {
    text_ += R"(,"value":)";
    text_ += value;
  }
  text_ += "}";
}

std::string PointerToken(std::string_view key) {
  std::string out;
  out.reserve(key.size() + 8);
  for (char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace kube
