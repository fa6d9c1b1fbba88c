// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/image_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "exec-format/entrypoint/file_tree.h"
#include "exec-format/entrypoint/layer_tar.h"
#include "exec-format/entrypoint/unpacker.h"
#include "inspection/base/digest.h"

namespace exec_format {
namespace {

using inspection::Document;
using inspection::RegistryClient;
using inspection::Repository;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;

// Of one request. A registry that redirects costs two requests for each.
constexpr uint64_t kRangeBytes = 4u << 20;
constexpr int kMaxIndexDepth = 3;
// Manifests and indexes of one image.
constexpr int kMaxDocuments = 16;

// Searches in the layers that were read. Pure.
class Search {
 public:
  Search(FileQuestion question, ImageCommand image)
      : question_(std::move(question)), image_(std::move(image)) {}

  // kNoCommand and its reason.
  Result<> Begin() {
    if (!question_.path.empty()) {
      candidates_ = {question_.path};
      return Ok();
    }
    Result<std::vector<std::string>> paths = EntrypointPaths(image_, question_.container);
    if (!paths) return paths.error();
    candidates_ = std::move(*paths);
    return Ok();
  }

  const std::vector<std::string>& candidates() const { return candidates_; }

  // False if a layer below may change the answer.
  bool IsDecided(const FileTree& tree, const std::vector<LayerDescriptor>& layers,
                 ImageFile& answer) const {
    answer.files.clear();
    const bool is_given = !question_.path.empty();
    std::optional<FileTree::Found> found;
    for (const std::string& path : candidates_) {
      FileTree::Found candidate = tree.Find(path);
      if (candidate.state == FileTree::State::kUnknown) return false;
      if (candidate.state == FileTree::State::kFound && (is_given || candidate.executable)) {
        found = std::move(candidate);
        break;
      }
      // The first one that is there tells more than those that are nowhere.
      const FileOutcome outcome = OutcomeOf(candidate);
      if (answer.about.empty() || answer.outcome == FileOutcome::kNotFound) {
        answer.outcome = outcome;
        answer.about = candidates_.size() == 1 || outcome != FileOutcome::kNotFound
                           ? path
                           : path.substr(path.rfind('/') + 1);
      }
    }
    if (!found) return true;
    while (true) {
      answer.files.push_back({found->path, LayerDigest(layers, found->layer), found->format});
      if (found->format.kind != BinaryFormat::Kind::kScript) break;
      std::string path =
          InterpreterPath(image_, question_.container, answer.files.back().format.interpreter);
      if (answer.files.size() > kMaxInterpreters) {
        answer.outcome = FileOutcome::kTooManyInterpreters;
        answer.about = std::move(path);
        return true;
      }
      found = tree.Find(path);
      if (found->state == FileTree::State::kUnknown) return false;
      if (found->state != FileTree::State::kFound || !found->executable) {
        answer.outcome = OutcomeOf(*found);
        answer.about = std::move(path);
        return true;
      }
    }
    answer.outcome = FileOutcome::kFound;
    answer.about.clear();
    return true;
  }

 private:
  static FileOutcome OutcomeOf(const FileTree::Found& found) {
    switch (found.state) {
      case FileTree::State::kHidden:
        return FileOutcome::kHidden;
      case FileTree::State::kLinkLoop:
        return FileOutcome::kLinkLoop;
      case FileTree::State::kFound:
      case FileTree::State::kNotAFile:
        return FileOutcome::kNotExecutable;
      case FileTree::State::kUnknown:
      case FileTree::State::kAbsent:
        break;
    }
    return FileOutcome::kNotFound;
  }

  static std::string LayerDigest(const std::vector<LayerDescriptor>& layers, size_t from_top) {
    return layers[layers.size() - 1 - from_top].digest;
  }

  FileQuestion question_;
  ImageCommand image_;
  std::vector<std::string> candidates_;
};

class Reader {
 public:
  Reader(RegistryClient& client, const Repository& repository, ImageFileLimits limits,
         kube::TimePoint deadline)
      : client_(client), repository_(repository), limits_(limits), deadline_(deadline) {}

  Async<ImageFile> Read(std::string digest, WantedPlatform platform, FileQuestion question) {
    Result<ImageManifest> manifest = co_await FindManifest(std::move(digest), std::move(platform));
    if (!manifest) co_return manifest.error();
    ImageCommand image;
    if (question.path.empty()) {
      Result<Document> config =
          co_await client_.Blob(repository_, manifest->config_digest, deadline_);
      if (!config) co_return config.error();
      Result<ImageCommand> parsed = ParseImageCommand(config->body);
      if (!parsed) co_return parsed.error();
      image = std::move(*parsed);
    }
    Search search(std::move(question), std::move(image));
    Result<> begun = search.Begin();
    if (!begun) {
      answer_.outcome = FileOutcome::kNoCommand;
      answer_.about = begun.error().message();
      co_return std::move(answer_);
    }
    answer_.candidates = search.candidates();

    const std::vector<LayerDescriptor>& layers = manifest->layers;
    for (size_t left = layers.size(); left > 0; --left) {
      const LayerDescriptor& layer = layers[left - 1];
      if (!MayRead(layer)) co_return std::move(answer_);
      Result<> read = co_await ReadLayer(layer);
      if (!read) co_return read.error();
      if (left == 1) break;
      ImageFile answer = answer_;
      const bool is_decided = search.IsDecided(tree_, layers, answer);
      if (is_decided) co_return std::move(answer);
    }
    tree_.Complete();
    search.IsDecided(tree_, layers, answer_);
    co_return std::move(answer_);
  }

 private:
  Async<ImageManifest> FindManifest(std::string digest, WantedPlatform platform) {
    // Indexes that may have it, the next one last.
    std::vector<std::pair<std::string, int>> waiting;
    waiting.emplace_back(std::move(digest), 0);
    for (int documents = 0; !waiting.empty() && documents < kMaxDocuments; ++documents) {
      auto [next, depth] = std::move(waiting.back());
      waiting.pop_back();
      std::string version = next;
      Result<Document> document =
          co_await client_.Manifest(repository_, std::move(version), deadline_);
      if (!document) co_return document.error();
      Result<bool> is_index = IsIndex(document->body);
      if (!is_index) co_return is_index.error();
      if (!*is_index) {
        answer_.manifest = document->digest;
        co_return ParseImageManifest(document->body);
      }
      Result<IndexChoice> choice = ChooseFromIndex(document->body, platform);
      if (!choice) co_return choice.error();
      if (depth + 1 >= kMaxIndexDepth) continue;
      if (!choice->digest.empty()) {
        waiting.emplace_back(std::move(choice->digest), depth + 1);
        continue;
      }
      for (size_t i = choice->nested.size(); i-- > 0;)
        waiting.emplace_back(std::move(choice->nested[i]), depth + 1);
    }
    co_return Error::NotFound("the index has no image for " + platform.os + "/" +
                              platform.architecture);
  }

  bool MayRead(const LayerDescriptor& layer) {
    answer_.about = layer.digest;
    if (!IsReadableLayer(layer.media_type)) {
      answer_.outcome = FileOutcome::kUnsupportedLayer;
      return false;
    }
    // In this order, since both numbers are untrusted.
    if (layer.size > limits_.layer_bytes || layer.size > limits_.image_bytes - answer_.bytes_read) {
      answer_.outcome = FileOutcome::kTooManyBytes;
      return false;
    }
    answer_.about.clear();
    return true;
  }

  Async<> ReadLayer(const LayerDescriptor& layer) {
    tree_.BeginLayer();
    LayerTar tar([this](const LayerEntry& entry) { return tree_.Add(entry); },
                 std::min(kMaxUnpackedBytes, kMaxImageUnpackedBytes - unpacked_));
    inspection::DigestVerifier verifier(layer.digest);
    uint64_t at = 0;
    Result<> unpacked = Ok();
    RegistryClient::ReceivePiece receive = [&](std::string_view piece) {
      at += piece.size();
      if (at > layer.size) {
        unpacked = Error::Invalid("more bytes than the manifest says");
        return false;
      }
      verifier.Add(piece);
      unpacked = tar.Push(piece);
      return unpacked.has_value();
    };
    const std::string about = "layer " + layer.digest;
    while (at < layer.size) {
      std::string digest = layer.digest;
      const uint64_t before = at, length = std::min(kRangeBytes, layer.size - at);
      Result<uint64_t> received = co_await client_.BlobRange(repository_, std::move(digest), at,
                                                             length, receive, deadline_);
      answer_.bytes_read += at - before;
      if (!received) co_return received.error().Prefix(about);
      if (!unpacked) co_return unpacked.error().Prefix(about);
      if (at == before) co_return Error::Invalid(about + ": fewer bytes than the manifest says");
    }
    ++answer_.layers_read;
    unpacked_ += tar.unpacked_bytes();
    Result<> verified = verifier.Verify();
    if (!verified) co_return verified.error().Prefix(about);
    unpacked = tar.Finish();
    if (!unpacked) co_return unpacked.error().Prefix(about);
    co_return Ok();
  }

  RegistryClient& client_;
  const Repository& repository_;
  ImageFileLimits limits_;
  kube::TimePoint deadline_;
  FileTree tree_;
  uint64_t unpacked_ = 0;
  ImageFile answer_;
};

}  // namespace

Async<ImageFile> ReadImageFile(RegistryClient& client, const Repository& repository,
                               std::string digest, WantedPlatform platform, FileQuestion question,
                               ImageFileLimits limits, kube::TimePoint deadline) {
  Reader reader(client, repository, limits, deadline);
  Result<ImageFile> file =
      co_await reader.Read(std::move(digest), std::move(platform), std::move(question));
  co_return file;
}

}  // namespace exec_format
