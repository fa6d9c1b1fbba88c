// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/reference.h"

#include <algorithm>
#include <cctype>

#include "kube/base/ascii.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Result;

constexpr size_t kMaxText = 1024;
constexpr size_t kMaxName = 255;
constexpr size_t kMaxTag = 128;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }
bool IsAlnum(char c) { return IsDigit(c) || IsLower(c) || IsUpper(c); }

// Alphanumerics separated by one '.', one or two '_', or any number of '-'.
bool IsPathComponent(std::string_view part) {
  size_t at = 0;
  while (true) {
    size_t start = at;
    while (at < part.size() && (IsLower(part[at]) || IsDigit(part[at]))) ++at;
    if (at == start) return false;
    if (at == part.size()) return true;
    if (part[at] == '.') {
      ++at;
    } else if (part[at] == '_') {
      ++at;
      if (at < part.size() && part[at] == '_') ++at;
    } else if (part[at] == '-') {
      while (at < part.size() && part[at] == '-') ++at;
    } else {
      return false;
    }
  }
}

bool IsTag(std::string_view tag) {
  if (tag.empty() || tag.size() > kMaxTag || tag[0] == '.' || tag[0] == '-') return false;
  return std::all_of(tag.begin(), tag.end(),
                     [](char c) { return IsAlnum(c) || c == '_' || c == '.' || c == '-'; });
}

bool IsHostName(std::string_view host) {
  while (true) {
    size_t dot = host.find('.');
    std::string_view part = host.substr(0, dot);
    if (part.empty() || !IsAlnum(part.front()) || !IsAlnum(part.back())) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return IsAlnum(c) || c == '-'; }))
      return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

// The first component is a registry if it cannot be a path, or is "localhost".
bool LooksLikeRegistry(std::string_view first) {
  return first == "localhost" || first.find_first_of(".:") != std::string_view::npos ||
         std::any_of(first.begin(), first.end(), IsUpper);
}

Error InvalidReference(std::string_view text, std::string_view why) {
  std::string shown(text.substr(0, 200));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return !std::isprint(c); }, '?');
  return Error::Invalid("image reference \"" + shown + "\": " + std::string(why));
}

}  // namespace

bool IsDigest(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view algorithm = text.substr(0, colon);
  std::string_view hex = text.substr(colon + 1);
  size_t wanted = algorithm == "sha256" ? 64 : algorithm == "sha512" ? 128 : 0;
  return wanted != 0 && hex.size() == wanted && std::all_of(hex.begin(), hex.end(), IsHex);
}

bool IsRegistryHost(std::string_view text) {
  std::string_view port;
  if (!text.empty() && text[0] == '[') {
    size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    std::string_view address = text.substr(1, close - 1);
    if (address.find(':') == std::string_view::npos || address.size() > 45) return false;
    if (!std::all_of(address.begin(), address.end(), [](char c) {
          return IsHex(c) || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
        })) {
      return false;
    }
    port = text.substr(close + 1);
    if (port.empty()) return true;
    if (port[0] != ':') return false;
    port.remove_prefix(1);
  } else {
    size_t colon = text.find(':');
    if (!IsHostName(text.substr(0, colon))) return false;
    if (colon == std::string_view::npos) return true;
    port = text.substr(colon + 1);
  }
  if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), IsDigit))
    return false;
  int number = 0;
  for (char digit : port) number = number * 10 + (digit - '0');
  return number >= 1 && number <= 65535;
}

bool IsRepository(std::string_view text) {
  while (true) {
    size_t slash = text.find('/');
    if (!IsPathComponent(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

Result<Reference> Reference::Parse(std::string_view text) {
  if (text.empty()) return InvalidReference(text, "empty");
  if (text.size() > kMaxText) return InvalidReference(text, "too long");
  Reference reference;
  std::string_view rest = text;

  // Digest.
  if (size_t at = rest.find('@'); at != std::string_view::npos) {
    reference.digest = rest.substr(at + 1);
    if (!IsDigest(reference.digest)) return InvalidReference(text, "bad digest");
    rest = rest.substr(0, at);
  }

  // Tag: a colon after the last slash. One before it belongs to the registry's port.
  size_t last_slash = rest.rfind('/');
  size_t colon = rest.find(':', last_slash == std::string_view::npos ? 0 : last_slash);
  if (colon != std::string_view::npos) {
    reference.tag = rest.substr(colon + 1);
    if (!IsTag(reference.tag)) return InvalidReference(text, "bad tag");
    rest = rest.substr(0, colon);
  } else if (reference.digest.empty()) {
    reference.tag = "latest";
  }

  // Registry and repository.
  size_t slash = rest.find('/');
  if (slash != std::string_view::npos && LooksLikeRegistry(rest.substr(0, slash))) {
    reference.registry = rest.substr(0, slash);
    reference.repository = rest.substr(slash + 1);
    if (!IsRegistryHost(reference.registry)) return InvalidReference(text, "bad registry host");
    // In "Registry/app" only the upper case shows that there is a registry, so the case is kept.
    std::string lower = kube::AsciiLower(reference.registry);
    if (LooksLikeRegistry(lower)) reference.registry = lower;
    if (reference.registry == "index.docker.io") reference.registry = kDockerHub;
  } else {
    reference.registry = kDockerHub;
    reference.repository = rest;
    reference.short_name = true;
    if (rest.size() == 64 && std::all_of(rest.begin(), rest.end(), IsHex))
      return InvalidReference(text, "it is an image ID");
  }
  if (!IsRepository(reference.repository)) return InvalidReference(text, "bad repository name");
  if (reference.registry == kDockerHub && reference.repository.find('/') == std::string::npos) {
    reference.repository.insert(0, "library/");
  }
  if (reference.Name().size() > kMaxName)
    return InvalidReference(text, "name longer than 255 characters");
  return reference;
}

std::string Reference::ToString() const {
  std::string text = Name();
  if (!tag.empty()) text += ":" + tag;
  if (!digest.empty()) text += "@" + digest;
  return text;
}

}  // namespace inspection
