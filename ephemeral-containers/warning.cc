// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/warning.h"

#include <set>
#include <vector>

#include "kube/base/join.h"

namespace ephemeral {
namespace {

// Where the warning would be too long: the longest forms of its parts.
constexpr size_t kLongestImage = 60;
constexpr size_t kLongestContainer = 20;
constexpr size_t kLongestNode = 30;
constexpr size_t kLongestPlatforms = 30;
constexpr size_t kLongestArchitecture = 16;
// The architectures that a warning lists.
constexpr size_t kListed = 8;

struct Parts {
  std::string image;
  std::string container;
  std::string wanted;  // the architecture or the operating system of the node
  const char* what;
  std::string node;
  std::string platforms;

  std::string ToString() const {
    return "image \"" + image + "\" of the ephemeral container \"" + container + "\" is not for " +
           wanted + ", the " + what + " of the node \"" + node + "\"; it is for " + platforms;
  }
};

// Users and registries choose the text: nothing may break a line, or look like another character.
std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"') c = '?';
  }
  return printable;
}

// The start and the end of `text`: a tag is at the end.
std::string Shortened(const std::string& text, size_t size) {
  constexpr std::string_view kGap = "...";
  if (text.size() <= size) return text;
  size_t start = (size - kGap.size()) / 2;
  size_t end = size - kGap.size() - start;
  return text.substr(0, start) + std::string(kGap) + text.substr(text.size() - end);
}

std::string Start(const std::string& text, size_t size) {
  return text.size() <= size ? text : text.substr(0, size - 3) + "...";
}

}  // namespace

std::string WarningFor(const NamedImage& image, const NodePlatform& node,
                       const placement::CommonPlatforms& platforms) {
  if (platforms.every) return "";
  const placement::ArchitectureSet& fitting = platforms.On(node.os);
  if (fitting.contains(node.architecture)) return "";
  const bool of_os = !fitting.empty();
  std::vector<std::string> listed;
  if (of_os) {
    for (const std::string& architecture : fitting) listed.push_back(Printable(architecture));
  } else {
    for (const auto& [os, architectures] : platforms.by_os) {
      for (const std::string& architecture : architectures)
        listed.push_back(Printable(os + "/" + architecture));
    }
  }
  // What is for nothing is not known.
  if (listed.empty()) return "";

  Parts parts{.image = Printable(image.image),
              .container = Printable(image.container),
              .wanted = Printable(of_os ? node.architecture : node.os),
              .what = of_os ? "architecture" : "operating system",
              .node = Printable(node.name),
              .platforms = kube::Join(listed, kListed)};
  std::string text = parts.ToString();
  if (text.size() <= kMaxWarningBytes) return text;
  parts.image = Shortened(parts.image, kLongestImage);
  text = parts.ToString();
  if (text.size() <= kMaxWarningBytes) return text;
  parts.node = Start(parts.node, kLongestNode);
  parts.container = Start(parts.container, kLongestContainer);
  parts.wanted = Start(parts.wanted, kLongestArchitecture);
  parts.platforms = Start(parts.platforms, kLongestPlatforms);
  text = parts.ToString();
  return text.substr(0, kMaxWarningBytes);
}

}  // namespace ephemeral
