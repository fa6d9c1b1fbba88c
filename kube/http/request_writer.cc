// SPDX-License-Identifier: Apache-2.0
#include "kube/http/request_writer.h"

#include "kube/base/base64.h"
#include "kube/http/field.h"

namespace kube {
namespace {

// What a header field has in addition to name and value; and the method, the version and the fields
// that are added here.
constexpr size_t kPerField = 4;
constexpr size_t kFixedBytes = 400;

bool IsTarget(std::string_view text) {
  for (char c : text) {
    if (c <= 0x20 || c >= 0x7f) return false;
  }
  return text.starts_with('/');
}

}  // namespace

Result<std::string> WriteRequestHeader(const HttpRequest& request, const Origin& origin,
                                       size_t joined_body_bytes) {
  if (!IsToken(request.method)) return Error::Invalid("not an HTTP method");
  if (!IsTarget(request.target)) return Error::Invalid("not a request target");
  Url url{.scheme = origin.scheme,
          .host = origin.host,
          .port = origin.port,
          .target = request.target,
          .userinfo = ""};
  bool asks_proxy = origin.proxy && origin.scheme == "http";

  std::string target = asks_proxy ? url.ToString() : request.target;
  size_t size = target.size() + kFixedBytes + joined_body_bytes;
  for (auto& [name, value] : request.headers) size += name.size() + value.size() + kPerField;

  std::string text;
  text.reserve(size);
  text.append(request.method).append(" ").append(target).append(" HTTP/1.1\r\n");
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
  bool expects_body =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (expects_body || !request.body.empty())
    add("Content-Length", std::to_string(request.body.size()));
  text.append("\r\n");
  return text;
}

}  // namespace kube
