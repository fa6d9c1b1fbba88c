// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/layer_tar.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "exec-format/entrypoint/pull_thread.h"
#include "exec-format/entrypoint/unpacker.h"

namespace exec_format {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

// UTF-8 first: names of pax headers are UTF-8, and their conversion to the locale may lose
// characters. The names of other headers are bytes. Null for a name that cannot be represented;
// ASCII always can.
const char* NameOf(const char* utf8, const char* bytes) { return utf8 != nullptr ? utf8 : bytes; }

}  // namespace

std::string CleanPath(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const size_t parent = clean.rfind('/');
      clean.resize(parent == std::string::npos ? 0 : parent);
      continue;
    }
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

struct LayerTar::State {
  State(OnEntry receiver, uint64_t max_unpacked)
      : on_entry(std::move(receiver)),
        unpacker([this](std::string_view bytes) { return Give(bytes); }, max_unpacked),
        thread([this](PullThread&) { outcome = Read(); }) {}

  Result<> Give(std::string_view bytes) {
    if (!thread.Give(bytes)) return Error::Unavailable("no thread for reading a layer");
    return outcome;
  }

  // Below: on the thread of libarchive.

  Result<> Read() {
    const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
    if (reader == nullptr) return Error::Internal("libarchive");
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_empty(reader.get());
    if (archive_read_open(reader.get(), this, nullptr, &State::ReadPiece, nullptr) != ARCHIVE_OK)
      return Failure(reader.get());
    std::string head;
    head.reserve(kMaxHeadBytes);
    while (true) {
      archive_entry* entry = nullptr;
      reads_header = true;
      header_bytes = 0;
      const int status = archive_read_next_header(reader.get(), &entry);
      reads_header = false;
      if (status == ARCHIVE_EOF) return Ok();
      // RETRY: libarchive would search for the next header; runtimes refuse such a layer.
      const bool is_readable = status == ARCHIVE_OK || status == ARCHIVE_WARN;
      if (!is_readable || entry == nullptr) return Failure(reader.get());
      const char* name = NameOf(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
      if (name == nullptr && status == ARCHIVE_WARN) return Failure(reader.get());
      Result<> reported = Report(reader.get(), entry, head);
      if (!reported) return reported;
      // Not in the next call: the bytes of a file are not those of a header.
      if (archive_read_data_skip(reader.get()) == ARCHIVE_FATAL) return Failure(reader.get());
    }
  }

  static la_ssize_t ReadPiece(archive* reader, void* self, const void** bytes) {
    auto* state = static_cast<State*>(self);
    if (state->reads_header && state->header_bytes > kMaxEntryHeaderBytes) {
      archive_set_error(reader, EFBIG, "the header of an entry is too large");
      return ARCHIVE_FATAL;
    }
    const std::string_view piece = state->thread.Take();
    state->header_bytes += piece.size();
    *bytes = piece.data();
    return static_cast<la_ssize_t>(piece.size());
  }

  static Error Failure(archive* reader) {
    const char* text = archive_error_string(reader);
    return Error::Invalid("the layer is not valid tar: " +
                          std::string(text == nullptr ? "unknown error" : text));
  }

  Result<> Report(archive* reader, archive_entry* entry, std::string& head) {
    const char* name = NameOf(archive_entry_pathname_utf8(entry), archive_entry_pathname(entry));
    if (name == nullptr) return Ok();
    const std::string_view path = name;
    if (path.size() > kMaxPathBytes) return Ok();
    LayerEntry found;
    found.path = CleanPath(path);
    const char* hard = NameOf(archive_entry_hardlink_utf8(entry), archive_entry_hardlink(entry));
    const auto type = archive_entry_filetype(entry);
    if (hard != nullptr) {
      found.kind = LayerEntry::Kind::kHardLink;
      found.target = CleanPath(std::string_view(hard).substr(0, kMaxPathBytes));
    } else if (type == AE_IFLNK) {
      const char* to = NameOf(archive_entry_symlink_utf8(entry), archive_entry_symlink(entry));
      const std::string_view target = to == nullptr ? "" : to;
      // Linux has no empty link: what is not known leads nowhere.
      if (!target.empty() && target.size() <= kMaxPathBytes) {
        found.kind = LayerEntry::Kind::kSymlink;
        found.target = target;
      }
    } else if (type == AE_IFDIR) {
      found.kind = LayerEntry::Kind::kDirectory;
    } else if (type == AE_IFREG) {
      found.kind = LayerEntry::Kind::kFile;
      found.executable = (archive_entry_perm(entry) & 0111) != 0;
      std::optional<uint64_t> size;
      if (archive_entry_size_is_set(entry) != 0 && archive_entry_size(entry) >= 0)
        size = static_cast<uint64_t>(archive_entry_size(entry));
      Result<> read = ReadHead(reader, head);
      if (!read) return read;
      found.format = ReadBinaryFormat(head, size);
    }
    return on_entry(found);
  }

  // The first bytes of the file; the holes of a sparse one are zeros.
  static Result<> ReadHead(archive* reader, std::string& head) {
    head.clear();
    while (head.size() < kMaxHeadBytes) {
      const void* block = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(reader, &block, &size, &offset);
      if (status == ARCHIVE_EOF) return Ok();
      if (status < ARCHIVE_WARN) return Failure(reader);
      if (offset < 0) continue;
      const auto begin = static_cast<uint64_t>(offset);
      if (begin >= kMaxHeadBytes) return Ok();
      if (begin < head.size()) continue;
      head.resize(begin, '\0');
      head.append(static_cast<const char*>(block), std::min(size, kMaxHeadBytes - head.size()));
    }
    return Ok();
  }

  OnEntry on_entry;
  Result<> outcome = Ok();
  bool reads_header = false;
  size_t header_bytes = 0;
  Unpacker unpacker;
  // The last member: its thread uses the others until it ends.
  PullThread thread;
};

LayerTar::LayerTar(OnEntry on_entry, uint64_t max_unpacked)
    : state_(std::make_unique<State>(std::move(on_entry), max_unpacked)) {}
LayerTar::~LayerTar() = default;

Result<> LayerTar::Push(std::string_view packed) { return state_->unpacker.Push(packed); }

Result<> LayerTar::Finish() {
  Result<> unpacked = state_->unpacker.Finish();
  if (!unpacked) return unpacked;
  return state_->Give({});
}

uint64_t LayerTar::unpacked_bytes() const { return state_->unpacker.unpacked_bytes(); }

}  // namespace exec_format
