// SPDX-License-Identifier: Apache-2.0
// JsonPatch: builds the text of a JSON Patch (RFC 6902).
//
//   JsonPatch patch;
//   patch.Add("/metadata/labels/" + PointerToken("example.com/a"), R"("b")");
//   return AdmissionResponse::Patched(std::move(patch).Take());
#pragma once

#include <string>
#include <string_view>

namespace kube {

class JsonPatch {
 public:
  // `value` is JSON. Add() replaces a member that exists, and inserts into a list.
  void Add(std::string_view path, std::string_view value) { Append("add", path, value); }
  void Replace(std::string_view path, std::string_view value) { Append("replace", path, value); }

  // The member must exist.
  void Remove(std::string_view path) { Append("remove", path, ""); }

  // "" without operations.
  std::string Take() && { return text_.empty() ? "" : std::move(text_) + "]"; }

 private:
  // An empty `value`: without one.
  void Append(std::string_view op, std::string_view path, std::string_view value);

  std::string text_;
};

// `key` as a reference token of a JSON Pointer (RFC 6901).
std::string PointerToken(std::string_view key);

}  // namespace kube
