// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/toml_reader.h"

namespace inspection {
namespace {

constexpr size_t kMaxTomlBytes = 1u << 20;

}  // namespace

kube::Result<toml::table> TomlReader::ParseToml(std::string_view text) const {
  if (text.size() > kMaxTomlBytes) return kube::Error::Invalid(about_ + "larger than 1 MiB");
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) return Fail(parsed.error().source(), parsed.error().description());
  return std::move(parsed).table();
}

}  // namespace inspection
