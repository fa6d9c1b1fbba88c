// SPDX-License-Identifier: Apache-2.0
#include "plugin/command_line.h"

#include <gflags/gflags.h>

#include <string_view>

namespace plugin {
namespace {

struct ShortFlag {
  std::string_view name;
  std::string_view long_name;
};
// As in kubectl.
constexpr ShortFlag kShort[] = {{"-n", "--namespace"}, {"-o", "--output"}, {"-h", "--help"}};

std::string LongName(std::string_view argument) {
  for (const ShortFlag& flag : kShort) {
    if (argument == flag.name) return std::string(flag.long_name);
    // "-n=shop" and "-nshop"
    if (argument.starts_with(flag.name) && argument.size() > flag.name.size()) {
      std::string_view value = argument.substr(flag.name.size());
      if (value.front() == '=') value.remove_prefix(1);
      return std::string(flag.long_name) + "=" + std::string(value);
    }
  }
  return std::string(argument);
}

// Whether the flag, "--name" without a value, has the next argument as its value.
bool TakesValue(const std::string& flag) {
  if (flag.find('=') != std::string::npos) return false;
  gflags::CommandLineFlagInfo info;
  std::string name = flag.substr(flag.find_first_not_of('-'));
  for (char& c : name) c = c == '-' ? '_' : c;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type != "bool";
}

}  // namespace

CommandLine ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  auto add = [&](std::string flag) {
    line.texts.push_back(std::move(flag));
    line.flags.push_back(line.texts.back().data());
  };
  add(argc > 0 ? argv[0] : "");
  bool only_words = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (only_words || argument.size() < 2 || argument.front() != '-') {
      line.words.emplace_back(argument);
    } else if (argument == "--") {
      only_words = true;
    } else {
      std::string flag = argument.starts_with("--") ? std::string(argument) : LongName(argument);
      if (TakesValue(flag) && i + 1 < argc) flag.append("=").append(argv[++i]);
      add(std::move(flag));
    }
  }
  line.flags.push_back(nullptr);
  return line;
}

}  // namespace plugin
