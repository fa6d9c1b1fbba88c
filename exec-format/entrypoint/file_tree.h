// SPDX-License-Identifier: Apache-2.0
// FileTree: the files of an image, of as many of its layers as were read, from the top down.
//
//   FileTree tree;
//   tree.BeginLayer();
//   ... tree.Add(entry) for each entry of the top layer ...
//   FileTree::Found found = tree.Find("/usr/bin/sh");
//   if (found.state == FileTree::State::kUnknown) ... the next layer decides ...
//
// A layer is an OCI changeset: later entries replace earlier ones, ".wh.NAME" removes a file of the
// layers below, ".wh..wh..opq" what they have in a folder. An entry costs 16 bytes, links and
// formats more; the whole tree is bounded, whatever the image has. Paths are known by a hash of 64
// bits. An image that has two paths of one hash deceives only about itself, as it could by its
// config. Pure.
// Sources: OCI Image Spec 1.1 (layer.md), path_resolution(7), containerd's archive.Apply().
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exec-format/binary/binary_format.h"
#include "exec-format/entrypoint/layer_tar.h"
#include "kube/base/error.h"

namespace exec_format {

// Of all layers. Images with more exist: their files are not found.
inline constexpr size_t kMaxEntries = 200'000;
// Of the links' targets and of different formats, in bytes.
inline constexpr size_t kMaxTreeTextBytes = 2u << 20;
// Symbolic links on the way to one file, as in Linux.
inline constexpr int kMaxLinks = 40;
// Names in a path that is looked up, with all links in it.
inline constexpr size_t kMaxPathNames = 256;
// Of names in layers, for all paths: a second of CPU time. Usual images need some thousand; 500
// layers with long PATHs and chains of links could need billions.
inline constexpr size_t kMaxLookups = 10'000'000;

class FileTree {
 public:
  FileTree() = default;
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  enum class State {
    kFound,
    kUnknown,   // the layers below decide
    kAbsent,    // in no layer, or below something that is no folder
    kHidden,    // removed by a whiteout of a layer above
    kLinkLoop,  // more than kMaxLinks, kMaxPathNames or kMaxLookups
    kNotAFile,  // a folder or a device
  };
  struct Found {
    State state = State::kUnknown;
    // kFound. After all links, with "/" in front.
    std::string path;
    size_t layer = 0;  // 0: the top
    bool executable = false;
    BinaryFormat format;
  };

  // Entries are of the next lower layer from here on.
  void BeginLayer();
  // kInvalid if the tree is full.
  kube::Result<> Add(const LayerEntry& entry);
  // The last layer, including its last entry, was added: what is not known now is absent.
  void Complete() { complete_ = true; }

  // `path`: absolute. Untrusted.
  Found Find(std::string_view path) const;

  size_t layers() const { return layers_.size(); }

 private:
  enum class Kind : uint8_t { kDirectory, kFile, kSymlink, kHardLink, kOther, kWhiteout, kOpaque };
  struct Record {
    uint64_t hash;
    uint32_t text;  // an index of links_ or formats_
    Kind kind;
    bool executable;
  };
  static_assert(sizeof(Record) == 16);
  struct Layer {
    // Sorted by hash once the next layer begins, the last of equal ones first.
    std::vector<Record> records;
    bool sorted = false;
  };
  // What decides about a path in one layer or the layers below.
  struct Event {
    State state = State::kUnknown;  // kFound: `record` is at the path or, if it is a link, above it
    const Record* record = nullptr;
    size_t layer = 0;
    size_t names = 0;  // how many names of the path lead to the record
  };
  using Names = std::vector<std::string>;

  void AddRecord(std::string_view path, Record record);
  static const Record* RecordAt(const Layer& layer, uint64_t hash);
  Event EventAt(const Names& names, size_t first_layer) const;
  // Follows hard links, which lead to files of the same layer or of those below.
  Event WithoutHardLinks(Event event) const;
  kube::Result<uint32_t> FormatIndex(const BinaryFormat& format);

  mutable std::vector<Layer> layers_;
  std::vector<std::string> links_;
  // Each format once; pointers into the map.
  std::map<BinaryFormat, uint32_t> format_indexes_;
  std::vector<const BinaryFormat*> formats_;
  size_t entries_ = 0;
  size_t text_bytes_ = 0;
  bool complete_ = false;
  mutable size_t lookups_ = 0;
};

}  // namespace exec_format
