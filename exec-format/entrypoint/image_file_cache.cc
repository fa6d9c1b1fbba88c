// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_file_cache.h"

#include <utility>

#include "inspection/base/digest.h"

namespace exec_format {
namespace {

// Two lists and strings of a map, and the key in both.
constexpr size_t kNodeBytes = 320;

size_t BytesOf(const ImageFile& file) {
  size_t bytes = kNodeBytes + sizeof(ImageFile) + file.about.capacity() + file.manifest.capacity() +
                 file.files.capacity() * sizeof(FoundFile);
  for (const std::string& path : file.candidates) bytes += sizeof(path) + path.capacity();
  for (const FoundFile& found : file.files) {
    const BinaryFormat& format = found.format;
    bytes += found.path.capacity() + found.layer.capacity() + format.interpreter.capacity() +
             format.argument.capacity() + format.problem.capacity() +
             format.elf.architecture.capacity() + format.elf.interpreter.capacity();
  }
  return bytes;
}

// With its length, so that no two lists of texts have the same bytes.
void Append(std::string_view text, std::string& bytes) {
  bytes += std::to_string(text.size()) + ":";
  bytes += text;
}
void Append(const std::vector<std::string>& texts, std::string& bytes) {
  bytes += std::to_string(texts.size()) + "[";
  for (const std::string& text : texts) Append(text, bytes);
}

}  // namespace

std::string ImageFileKey(std::string_view digest, const WantedPlatform& platform,
                         const FileQuestion& question) {
  std::string bytes;
  for (std::string_view text :
       {digest, std::string_view(platform.os), std::string_view(platform.architecture),
        std::string_view(platform.variant), std::string_view(question.path),
        std::string_view(question.container.working_dir)}) {
    Append(text, bytes);
  }
  Append(question.container.command, bytes);
  Append(question.container.args, bytes);
  bytes += question.container.path ? "+" : "-";
  Append(question.container.path.value_or(""), bytes);
  return inspection::Sha256Digest(bytes);
}

void ImageFileCache::Erase(const std::string& key) {
  const ImageFile* file = files_.Find(key);
  if (file == nullptr) return;
  bytes_ -= BytesOf(*file);
  files_.Erase(key);
}

void ImageFileCache::Put(const std::string& key, ImageFile file) {
  Erase(key);
  const size_t bytes = BytesOf(file);
  if (bytes > max_bytes_) return;
  while (bytes_ + bytes > max_bytes_) {
    const std::string oldest = files_.oldest_key();
    Erase(oldest);
  }
  files_.Put(key, std::move(file));
  bytes_ += bytes;
}

}  // namespace exec_format
