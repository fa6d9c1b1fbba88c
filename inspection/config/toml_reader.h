// SPDX-License-Identifier: Apache-2.0
// TomlReader: base of parsers of TOML files: typed access to values; keeps the first type error.
//
//   class Parser : private TomlReader {
//     Parser() : TomlReader("registries.conf ") {}
//     Result<toml::table> file = ParseToml(text);
//     ... registry.blocked = BoolAt(table, "blocked"); ...
//     if (error()) return *error();   // "registries.conf line 7: blocked: not true or false"
//
// Values of a wrong type are errors: a misread "blocked" would allow a registry that is forbidden.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace inspection {

class TomlReader {
 protected:
  // `about`: the prefix of every error, before "line 7: ..."; may be empty.
  explicit TomlReader(std::string about) : about_(std::move(about)) {}

  // Errors: kInvalid, also for more than 1 MiB.
  kube::Result<toml::table> ParseToml(std::string_view text) const;

  // The text of `node`; "" with an error if it is not a string. `key` is its name in the error.
  std::string StringOf(const toml::node& node, std::string_view key) {
    std::optional<std::string> value = node.value_exact<std::string>();
    if (!value) Refuse(node, std::string(key) + ": not a string");
    return value.value_or("");
  }
  // "" or false if `table` has no such key.
  std::string StringAt(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    return node == nullptr ? "" : StringOf(*node, key);
  }
  bool BoolAt(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return false;
    std::optional<bool> value = node->value_exact<bool>();
    if (!value) Refuse(*node, std::string(key) + ": not true or false");
    return value.value_or(false);
  }

  kube::Error Fail(const toml::source_region& where, std::string_view why) const {
    return kube::Error::Invalid(about_ + "line " + std::to_string(where.begin.line) + ": " +
                                std::string(why));
  }
  // Keeps the first error.
  void Refuse(const toml::node& node, std::string_view why) {
    if (!error_) error_ = Fail(node.source(), why);
  }
  const std::optional<kube::Error>& error() const { return error_; }

 private:
  std::string about_;
  std::optional<kube::Error> error_;
};

}  // namespace inspection
