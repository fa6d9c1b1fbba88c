// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/file_tree.h"

#include <algorithm>

namespace exec_format {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

constexpr std::string_view kWhiteoutPrefix = ".wh.";
constexpr std::string_view kOpaqueName = ".wh..wh..opq";
// Other files of AUFS, which runtimes skip.
constexpr std::string_view kMetadataPrefix = ".wh..wh.";
constexpr int kMaxHardLinks = 8;

// FNV-1a, whose state after a prefix is the hash of the prefix.
constexpr uint64_t kHashBasis = 0xcbf29ce484222325;
uint64_t Extend(uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}
uint64_t ExtendByName(uint64_t hash, std::string_view name) {
  return Extend(Extend(hash, "/"), name);
}
// Whiteouts have keys of their own: one layer may remove a file and add another in its place.
constexpr uint64_t kWhiteoutKey = 0x9e3779b97f4a7c15;
constexpr uint64_t kOpaqueKey = 0xc2b2ae3d27d4eb4f;

// Without empty names and ".".
void AppendNames(std::string_view path, std::vector<std::string>& names) {
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") names.emplace_back(name);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
}

std::string Joined(const std::vector<std::string>& names) {
  std::string path;
  for (const std::string& name : names) path += "/" + name;
  return path.empty() ? "/" : path;
}

}  // namespace

void FileTree::BeginLayer() { layers_.emplace_back(); }

void FileTree::AddRecord(std::string_view path, Record record) {
  uint64_t hash = kHashBasis;
  std::vector<std::string> names;
  AppendNames(path, names);
  for (const std::string& name : names) hash = ExtendByName(hash, name);
  if (record.kind == Kind::kWhiteout) hash ^= kWhiteoutKey;
  if (record.kind == Kind::kOpaque) hash ^= kOpaqueKey;
  record.hash = hash;
  layers_.back().records.push_back(record);
  layers_.back().sorted = false;
}

Result<uint32_t> FileTree::FormatIndex(const BinaryFormat& format) {
  auto found = format_indexes_.find(format);
  if (found != format_indexes_.end()) return found->second;
  constexpr size_t kNodeBytes = 64;  // of the map
  text_bytes_ += sizeof(BinaryFormat) + kNodeBytes + format.interpreter.size() +
                 format.argument.size() + format.elf.interpreter.size();
  if (text_bytes_ > kMaxTreeTextBytes) return Error::Invalid("the image has too many programs");
  const auto index = static_cast<uint32_t>(formats_.size());
  formats_.push_back(&format_indexes_.emplace(format, index).first->first);
  return index;
}

Result<> FileTree::Add(const LayerEntry& entry) {
  if (layers_.empty()) BeginLayer();
  if (++entries_ > kMaxEntries) return Error::Invalid("the image has more than 200000 files");
  const size_t slash = entry.path.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const std::string_view path = entry.path;
  const std::string_view name = path.substr(begin), folder = path.substr(0, begin);
  if (name == kOpaqueName) {
    AddRecord(folder, {.kind = Kind::kOpaque});
    return Ok();
  }
  if (name.starts_with(kMetadataPrefix)) return Ok();
  if (name.starts_with(kWhiteoutPrefix)) {
    std::string removed(folder);
    removed += name.substr(kWhiteoutPrefix.size());
    AddRecord(removed, {.kind = Kind::kWhiteout});
    return Ok();
  }
  Record record{.kind = Kind::kOther};
  switch (entry.kind) {
    case LayerEntry::Kind::kDirectory:
      record.kind = Kind::kDirectory;
      break;
    case LayerEntry::Kind::kFile: {
      record.kind = Kind::kFile;
      record.executable = entry.executable;
      Result<uint32_t> format = FormatIndex(entry.format);
      if (!format) return format.error();
      record.text = *format;
      break;
    }
    case LayerEntry::Kind::kSymlink:
    case LayerEntry::Kind::kHardLink:
      record.kind = entry.kind == LayerEntry::Kind::kSymlink ? Kind::kSymlink : Kind::kHardLink;
      text_bytes_ += sizeof(std::string) + entry.target.size();
      if (text_bytes_ > kMaxTreeTextBytes) return Error::Invalid("the image has too many links");
      record.text = static_cast<uint32_t>(links_.size());
      links_.push_back(entry.target);
      break;
    case LayerEntry::Kind::kOther:
      break;
  }
  AddRecord(path, record);
  return Ok();
}

const FileTree::Record* FileTree::RecordAt(const Layer& layer, uint64_t hash) {
  auto found =
      std::lower_bound(layer.records.begin(), layer.records.end(), hash,
                       [](const Record& record, uint64_t key) { return record.hash < key; });
  return found != layer.records.end() && found->hash == hash ? &*found : nullptr;
}

FileTree::Event FileTree::EventAt(const Names& names, size_t first_layer) const {
  // hashes[n]: of the first n names.
  std::vector<uint64_t> hashes = {kHashBasis};
  for (const std::string& name : names) hashes.push_back(ExtendByName(hashes.back(), name));
  // Whether a layer above has a folder there. It has replaced a link or a file, with all that was
  // reached through it.
  std::vector<bool> is_folder(names.size() + 1), is_folder_here;
  for (size_t i = first_layer; i < layers_.size(); ++i) {
    // A name may be an entry, a whiteout and an opaque folder.
    lookups_ += 3 * hashes.size();
    if (lookups_ > kMaxLookups) return {State::kLinkLoop, nullptr, 0, 0};
    Layer& layer = layers_[i];
    is_folder_here = is_folder;
    if (!layer.sorted) {
      // Stable, from the end: the last of equal ones becomes the first.
      std::reverse(layer.records.begin(), layer.records.end());
      std::stable_sort(layer.records.begin(), layer.records.end(),
                       [](const Record& a, const Record& b) { return a.hash < b.hash; });
      layer.sorted = true;
    }
    // The path itself, then what is above it: a link, or no folder.
    for (size_t n = names.size(); n > 0; --n) {
      const Record* record = RecordAt(layer, hashes[n]);
      if (record == nullptr) continue;
      if (n == names.size()) return {State::kFound, record, i, n};
      if (record->kind == Kind::kDirectory) {
        is_folder_here[n] = true;
        continue;
      }
      const bool is_link = record->kind == Kind::kSymlink && !is_folder[n];
      if (is_link) return {State::kFound, record, i, n};
      return {State::kAbsent, nullptr, i, n};
    }
    is_folder.swap(is_folder_here);
    for (size_t n = names.size();; --n) {
      const bool hidden = n > 0 && RecordAt(layer, hashes[n] ^ kWhiteoutKey) != nullptr;
      const bool opaque = n < names.size() && RecordAt(layer, hashes[n] ^ kOpaqueKey) != nullptr;
      if (hidden || opaque) return {State::kHidden, nullptr, i, n};
      if (n == 0) break;
    }
  }
  return {complete_ ? State::kAbsent : State::kUnknown, nullptr, 0, 0};
}

FileTree::Event FileTree::WithoutHardLinks(Event event) const {
  for (int links = 0; event.state == State::kFound && event.record->kind == Kind::kHardLink;
       ++links) {
    if (links == kMaxHardLinks) return {State::kLinkLoop, nullptr, 0, 0};
    Names target;
    AppendNames(links_[event.record->text], target);
    if (target.size() > kMaxPathNames) return {State::kLinkLoop, nullptr, 0, 0};
    const size_t names = event.names;
    event = EventAt(target, event.layer);
    // Runtimes resolve no links here: a hard link below a symbolic one is rare, and not followed.
    if (event.state == State::kFound && event.names != target.size())
      return {State::kAbsent, nullptr, 0, 0};
    event.names = names;
  }
  return event;
}

FileTree::Found FileTree::Find(std::string_view path) const {
  Names names;
  AppendNames(path, names);
  int links = 0;
  while (true) {
    if (names.size() > kMaxPathNames) return {.state = State::kLinkLoop};
    // The first "..": what is before it must be a folder, whose parent it is.
    const auto up = std::find(names.begin(), names.end(), "..");
    const auto before = static_cast<size_t>(up - names.begin());
    if (up != names.end() && before == 0) {
      names.erase(up);  // the root's parent is the root
      continue;
    }
    const bool is_whole = up == names.end();
    if (is_whole && names.empty()) return {.state = State::kNotAFile};
    const Names looked_up(names.begin(), up);
    const Event event = WithoutHardLinks(EventAt(looked_up, 0));
    const bool is_implicit =
        event.state == State::kAbsent && event.record == nullptr && event.names == 0 && !is_whole;
    if (event.state != State::kFound && !is_implicit) return {.state = event.state};

    if (event.state == State::kFound && event.record->kind == Kind::kSymlink) {
      if (++links > kMaxLinks) return {.state = State::kLinkLoop};
      const std::string& target = links_[event.record->text];
      Names next;
      if (!target.starts_with('/'))
        next.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(event.names) - 1);
      AppendNames(target, next);
      next.insert(next.end(), names.begin() + static_cast<std::ptrdiff_t>(event.names),
                  names.end());
      names = std::move(next);
      continue;
    }
    if (!is_whole) {
      if (!is_implicit && event.record->kind != Kind::kDirectory) return {.state = State::kAbsent};
      // A folder without an entry of its own counts: layers may leave it out.
      names.erase(up - 1, up + 1);
      continue;
    }
    if (event.record->kind != Kind::kFile) return {.state = State::kNotAFile};
    return {.state = State::kFound,
            .path = Joined(names),
            .layer = event.layer,
            .executable = event.record->executable,
            .format = *formats_[event.record->text]};
  }
}

}  // namespace exec_format
