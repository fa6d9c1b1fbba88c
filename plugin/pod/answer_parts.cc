// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/answer_parts.h"

#include <utility>

#include "plugin/text/titled.h"

namespace plugin {

using kube::Json;

std::string Say(const Cause& cause, Style style) {
  return Titled("why", cause.why, style) +
         (cause.next.empty() ? "" : Titled("next", cause.next, style));
}

Json AsJson(const Cause& cause) {
  return {{"name", cause.name}, {"why", cause.why}, {"next", cause.next}};
}

std::string Say(const std::vector<Unread>& unread, Style style) {
  std::string text;
  for (const Unread& part : unread) text += Titled("not read", part.what + ": " + part.why, style);
  return text;
}

Json AsJson(const std::vector<Unread>& unread) {
  Json parts = Json::array();
  for (const Unread& part : unread) {
    Json named = {{"what", part.what}, {"why", part.why}};
    parts.push_back(std::move(named));
  }
  return parts;
}

}  // namespace plugin
