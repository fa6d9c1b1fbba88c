// SPDX-License-Identifier: Apache-2.0
#include "kube/http/request_writer.h"

#include <algorithm>

#include "kube/base/base64.h"

namespace kube {
namespace {

bool IsTokenChar(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar); }

bool IsTarget(std::string_view text) {
  auto plain = [](char c) { return c > 0x20 && c < 0x7f; };
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), plain);
}

bool IsFieldValue(std::string_view text) {
  auto plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 ? c != 0x7f : c == '\t'; };
  return std::all_of(text.begin(), text.end(), plain);
}

}  // namespace

Result<std::string> WriteRequestHeader(const HttpRequest& request, const Origin& origin) {
  if (!IsToken(request.method)) return Error::Invalid("not an HTTP method");
  if (!IsTarget(request.target)) return Error::Invalid("not a request target");
  Url url{.scheme = origin.scheme, .host = origin.host, .port = origin.port, .target = request.target, .userinfo = ""};
  bool asks_proxy = origin.proxy && origin.scheme == "http";

  std::string text;
  text.reserve(512);
  text.append(request.method).append(" ").append(asks_proxy ? url.ToString() : request.target).append(" HTTP/1.1\r\n");
  auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  bool has_host = false;
  for (auto& [name, value] : request.headers) {
    if (!IsToken(name) || !IsFieldValue(value))
      return Error::Invalid("not an HTTP header field: " + name.substr(0, 40));
    has_host |= name.size() == 4 && (name == "Host" || name == "host");
    add(name, value);
  }
  if (!has_host) add("Host", url.Authority());
  if (asks_proxy && !origin.proxy->userinfo.empty()) {
    add("Proxy-Authorization", "Basic " + Base64Encode(origin.proxy->userinfo));
  }
  bool expects_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (expects_body || !request.body.empty()) add("Content-Length", std::to_string(request.body.size()));
  text.append("\r\n");
  return text;
}

}  // namespace kube
