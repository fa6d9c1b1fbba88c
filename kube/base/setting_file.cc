// SPDX-License-Identifier: Apache-2.0
#include "kube/base/setting_file.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "kube/base/async.h"

namespace kube {
namespace {

constexpr size_t kMaxBytes = 64;

std::string ReadWord(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  constexpr std::string_view kSpaces = " \t\r\n";
  size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.erase(0, begin);
  text.erase(text.find_last_not_of(kSpaces) + 1);
  return text;
}

}  // namespace

std::optional<std::string> SettingFile::Changed() {
  std::string text = ReadWord(path_);
  if (text == text_) return std::nullopt;
  text_ = std::move(text);
  return text_;
}

asio::awaitable<void> SettingFile::Follow(Clock& clock, std::string path,
                                          std::function<void(const std::string&)> apply) {
  co_await IgnoreCancellation();
  if (path.empty()) co_return;
  SettingFile file(std::move(path));
  while (true) {
    if (std::optional<std::string> word = file.Changed()) apply(*word);
    Result<> slept = co_await clock.Sleep(kReadEvery);
    if (!slept) co_return;
  }
}

}  // namespace kube
