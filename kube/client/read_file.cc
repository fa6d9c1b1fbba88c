// SPDX-License-Identifier: Apache-2.0
#include "kube/client/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace kube {
namespace {

constexpr size_t kMaxFile = 4 * 1024 * 1024;

}  // namespace

Result<std::string> ReadFile(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                       &std::fclose);
  if (file == nullptr) {
    std::string message = path + ": " + std::strerror(errno);
    return errno == ENOENT || errno == ENOTDIR ? Error::NotFound(message) : Error::Invalid(message);
  }
  std::string text;
  char chunk[4096];
  while (size_t size = std::fread(chunk, 1, sizeof chunk, file.get())) {
    text.append(chunk, size);
    if (text.size() > kMaxFile) return Error::Invalid(path + ": larger than 4 MiB");
  }
  if (std::ferror(file.get())) return Error::Invalid(path + ": " + std::strerror(errno));
  return text;
}

}  // namespace kube
