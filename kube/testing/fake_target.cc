// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_target.h"

#include <vector>

namespace kube {
namespace {

std::string Unescape(std::string_view text) {
  auto hex = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace

Result<FakeTarget> FakeTarget::Parse(std::string_view text) {
  FakeTarget target;
  size_t question = text.find('?');
  if (question != std::string_view::npos) {
    for (const std::string& pair : Split(text.substr(question + 1), '&')) {
      size_t equals = pair.find('=');
      target.query[pair.substr(0, equals)] =
          equals == std::string::npos ? "" : Unescape(pair.substr(equals + 1));
    }
  }
  std::vector<std::string> path = Split(text.substr(0, question), '/');
  size_t versions = !path.empty() && path[0] == "api" ? 2 : 3;  // /api/v1 or /apis/group/v1
  if (path.size() <= versions)
    return Error::FromHttpStatus(404, "NotFound", "no such path: " + std::string(text));
  for (size_t i = 0; i < versions; ++i) target.collection += "/" + path[i];

  size_t at = versions;
  // /namespaces/ns/pods..., but /namespaces/ns and /namespaces/ns/status are the namespace itself.
  bool scoped = path[at] == "namespaces" && path.size() > at + 2 && path[at + 2] != "status" &&
                path[at + 2] != "finalize";
  if (scoped) {
    target.key.ns = Unescape(path[at + 1]);
    at += 2;
  }
  target.collection += "/" + path[at++];
  if (at < path.size()) target.key.name = Unescape(path[at++]);
  if (at < path.size()) target.subresource = path[at++];
  if (at < path.size())
    return Error::FromHttpStatus(404, "NotFound", "no such path: " + std::string(text));
  return target;
}

std::string FakeTarget::Query(const std::string& name) const {
  auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

Result<bool> FakeTarget::Matches(const ObjectKey& object_key, const FakeObject& object) const {
  if (!key.ns.empty() && object_key.ns != key.ns) return false;
  if (!object.MatchesLabels(Query("labelSelector"))) return false;
  return object.MatchesFields(Query("fieldSelector"));
}

}  // namespace kube
