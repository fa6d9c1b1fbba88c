// SPDX-License-Identifier: Apache-2.0
#include "exec-format/fuzz/exec_format_targets.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>

#include "exec-format/binary/binary_format.h"
#include "exec-format/entrypoint/entrypoint_path.h"
#include "exec-format/entrypoint/file_tree.h"
#include "exec-format/entrypoint/image_manifest.h"
#include "exec-format/entrypoint/layer_tar.h"

namespace exec_format {
namespace {

using kube::Code;
using kube::Result;

void CheckFormat(const BinaryFormat& format) {
  using Kind = BinaryFormat::Kind;
  CHECK(!Describe(format).empty());
  CHECK_EQ(format.kind == Kind::kScript, !format.interpreter.empty());
  CHECK_EQ(format.kind == Kind::kElf, format.elf.bits != 0);
  if (format.kind == Kind::kElf) CHECK(!format.elf.architecture.empty());
  if (format.kind == Kind::kBadElf) CHECK(!format.problem.empty());
  CHECK_LE(format.elf.amd64_level, 4);
  for (const char* architecture : {"amd64", "arm64", "ppc64le", "s390x"}) {
    const RunVerdict verdict = RunsOn(format, architecture);
    if (!PagesTooLarge(format, architecture).empty()) CHECK(format.kind == Kind::kElf);
    if (format.kind != Kind::kElf && format.kind != Kind::kScript)
      CHECK(verdict == RunVerdict::kNo);
  }
}

void FuzzBinary(const std::string& input) {
  // A copy of the exact size: the sanitizer sees a read behind it.
  CheckFormat(ReadBinaryFormat(input, input.size()));
  CheckFormat(ReadBinaryFormat(input, std::nullopt));
  CheckFormat(ReadBinaryFormat(std::string(input, 0, input.size() / 2), input.size()));
}

// The first byte is the size of the pieces.
void FuzzLayer(const std::string& input) {
  if (input.empty()) return;
  const size_t step = static_cast<unsigned char>(input[0]) * 8 + 1;
  FileTree tree;
  tree.BeginLayer();
  std::vector<std::string> paths;
  constexpr size_t kLookedUp = 16;
  LayerTar tar([&](const LayerEntry& entry) {
    CHECK(!entry.path.starts_with('/') && !entry.path.ends_with('/')) << entry.path;
    CHECK_EQ(CleanPath(entry.path), entry.path);
    CHECK_LE(entry.path.size(), kMaxPathBytes);
    CHECK_LE(entry.target.size(), kMaxPathBytes);
    if (entry.kind == LayerEntry::Kind::kFile) CheckFormat(entry.format);
    if (paths.size() < kLookedUp) paths.push_back("/" + entry.path);
    return tree.Add(entry);
  });
  Result<> read = kube::Ok();
  for (size_t at = 1; at < input.size() && read; at += step)
    read = tar.Push(std::string_view(input).substr(at, step));
  if (read) read = tar.Finish();
  CHECK(read || read.error().code() == Code::kInvalid) << read.error();
  tree.Complete();
  for (const std::string& path : paths) {
    const FileTree::Found found = tree.Find(path);
    CHECK(found.state != FileTree::State::kUnknown);
    CHECK_EQ(found.state == FileTree::State::kFound, !found.path.empty());
    // What was found is no link.
    if (found.state == FileTree::State::kFound) CHECK_EQ(tree.Find(found.path).path, found.path);
  }
}

void FuzzDocument(const std::string& input) {
  if (Result<ImageManifest> manifest = ParseImageManifest(input)) {
    CHECK_LE(manifest->layers.size(), kMaxLayers);
    for (const LayerDescriptor& layer : manifest->layers) CHECK(!layer.digest.empty());
  }
  if (Result<IndexChoice> choice = ChooseFromIndex(input, {"linux", "arm64", "v8"}))
    CHECK_LE(choice->nested.size(), 16u);
  kube::IgnoreError(IsIndex(input), "both answers are right");
  Result<ImageCommand> image = ParseImageCommand(input);
  if (!image) return;
  Result<std::vector<std::string>> paths = EntrypointPaths(*image, {});
  if (!paths) return;
  CHECK(!paths->empty());
  CHECK_LE(paths->size(), kMaxPathFolders);
  for (const std::string& path : *paths) CHECK(path.starts_with('/'));
}

}  // namespace

std::vector<fuzz::FuzzTarget> ExecFormatTargets() {
  return {{"binary-format", FuzzBinary}, {"layer", FuzzLayer}, {"image-document", FuzzDocument}};
}

}  // namespace exec_format
