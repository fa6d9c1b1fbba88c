// SPDX-License-Identifier: Apache-2.0
#include "exec-format/learning/learner.h"

#include <glog/logging.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/names.h"
#include "cluster-controller/pull_secrets.h"
#include "exec-format/entrypoint/image_files.h"
#include "exec-format/findings/image_finding.h"
#include "kube/base/one_line.h"
#include "placement/architecture.h"
#include "placement/platforms.h"

namespace exec_format {

using cluster_controller::PodInspector;
using inspection::ImageRequest;
using kube::Async;
using kube::Result;

namespace {

constexpr size_t kShownImage = 256;

constexpr char kLookName[] = "image-findings/look";

FileQuestion QuestionOf(const Look& look) {
  FileQuestion question;
  if (look.failure) question.container = look.failure->container.command;
  return question;
}

// Text of tenants.
std::string Shown(const std::string& image) { return kube::OneLine(image.substr(0, kShownImage)); }

ImageFinding FindingOf(const Look& look, const std::string& digest, const std::string& architecture,
                       const ImageFile& file, Verdict verdict) {
  ImageFinding finding;
  finding.digest = digest;
  finding.architecture = architecture;
  if (verdict == Verdict::kWrongCommand || verdict == Verdict::kNotRead) finding.ns = look.ns();
  if (verdict == Verdict::kNeedsLevel) finding.amd64_level = file.program().format.elf.amd64_level;
  finding.image = look.image();
  finding.of_namespace = look.ns();
  if (look.failure) {
    finding.path = look.failure->container.path;
    finding.node = look.failure->node;
  }
  if (verdict != Verdict::kNotRead) {
    finding.path = file.program().path;
    finding.machine = file.program().format.elf.architecture;
  }
  return finding;
}

}  // namespace

Learner::Learner(const cluster_controller::TermParts& term, LearningMetrics& metrics)
    : clock_(term.clock),
      events_(term.events),
      inspector_(term.inspector),
      images_(term.images),
      findings_(term.findings),
      metrics_(metrics),
      store_(term.operator_namespace, term.client, term.clock, term.findings, metrics),
      pace_(term.clock, kLooksAtOnce, kLookPeriod) {
  findings_.OnInspected([this](const ImageRequest& request, const inspection::Inspected& image) {
    OnInspected(request, image);
  });
}

Learner::~Learner() { findings_.OnInspected(nullptr); }

void Learner::Start(kube::TaskGroup& tasks) {
  store_.Start(tasks);
  tasks.Spawn("image-findings-looks", Run());
}

void Learner::Follow(const api::ClusterPodPlacementConfig* config) {
  const bool exists = config != nullptr && !config->metadata().has_deletion_timestamp();
  const api::ImageFindingsPlugin plugin =
      exists ? config->ImageFindings() : api::ImageFindingsPlugin();
  is_on_ = plugin.enabled;
  looks_first_ = plugin.enabled && plugin.inspect_entrypoints;
  wants_levels_ = exists && config->WantsAmd64Levels();
  if (!is_on_) {
    queue_.Clear();
    first_pods_.Clear();
    looked_at_.Clear();
  }
  store_.Switch(is_on_, exists ? config->metadata().uid() : "");
}

void Learner::OnFailure(Failure failure, const std::string& architecture) {
  if (!is_on_ || !api::IsArchitectureName(architecture)) return;
  const FailedContainer& container = failure.container;
  inspection::PodIdentity identity{.ns = container.pod.ns,
                                   .pod = container.pod.name,
                                   .uid = container.uid,
                                   .account = container.account,
                                   .pull_secrets = container.pull_secrets};
  Push({.images = PodInspector::Images::OfImage(kLookName, std::move(identity), container.image),
        .architectures = {architecture},
        .failure = std::move(failure)});
}

void Learner::OnInspected(const ImageRequest& request, const inspection::Inspected& image) {
  if (!looks_first_ || request.pod == nullptr) return;
  const kube::TimePoint* again = looked_at_.Find(image.digest);
  if (again != nullptr && clock_.Now() < *again) return;
  std::vector<std::string> architectures;
  for (const placement::Platform& platform : image.platforms->platforms) {
    if (platform.os == placement::kLinux &&
        placement::AllArchitectures().contains(platform.architecture) &&
        (architectures.empty() || architectures.back() != platform.architecture))
      architectures.push_back(platform.architecture);
  }
  // With one architecture, there is no other one to be placed on.
  if (architectures.size() < 2) return;
  const bool is_queued =
      Push({.images = PodInspector::Images::OfImage(kLookName, *request.pod, request.image),
            .architectures = std::move(architectures)});
  // Until its look has ended.
  if (is_queued) looked_at_.Put(image.digest, clock_.Now() + kLookAgainAfter);
}

bool Learner::Push(Look look) {
  const bool is_queued = queue_.Push(std::move(look));
  if (is_queued) {
    queued_.NotifyAll();
  } else {
    metrics_.dropped_looks.Increment();
  }
  return is_queued;
}

kube::asio::awaitable<void> Learner::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    if (queue_.size() == 0) {
      Result<> waited = co_await queued_.Wait();
      if (!waited) co_return;
      continue;
    }
    Result<> slept = co_await clock_.SleepUntil(pace_.Take());
    if (!slept) co_return;
    std::optional<Look> look = queue_.Take();
    if (!look) continue;
    Result<> looked = co_await LookAt(*look);
    if (FailedWith(looked, kube::Code::kCancelled)) co_return;
    metrics_.looks.Increment();
    if (looked) continue;
    metrics_.failed_looks.Increment();
    VLOG(1) << "image findings: " << Shown(look->image()) << ": "
            << kube::OneLine(looked.error().ToString());
  }
}

Async<> Learner::LookAt(Look& look) {
  look.images.deadline = clock_.Now() + cluster_controller::kSecretReadTimeout;
  auto requests = co_await inspector_.RequestsFor(look.images);
  if (!requests) co_return requests.error();
  Read read;
  ImageRequest request = std::move(requests->front());
  request.visit = [this, &look, &read](inspection::RegistryClient& client,
                                       const inspection::Repository& repository,
                                       std::string digest) {
    return ReadPrograms(client, repository, std::move(digest), look, read);
  };
  Result<inspection::Inspected> inspected = co_await images_.Inspect(std::move(request));
  if (!inspected) co_return inspected.error();
  read.amd64_level = placement::Common({&inspected->platforms, 1}).amd64_level;
  for (const auto& [architecture, file] : read.files) {
    Result<> concluded = co_await Conclude(look, read, architecture, file);
    if (!concluded) co_return concluded;
  }
  if (read.files.size() < look.architectures.size())
    co_return kube::Error::Unavailable("the program could not be read for all architectures");
  if (!look.failure) looked_at_.Put(read.digest, kube::TimePoint::max());
  co_return kube::Ok();
}

Async<> Learner::ReadPrograms(inspection::RegistryClient& client,
                              const inspection::Repository& repository, std::string digest,
                              const Look& look, Read& read) {
  const kube::TimePoint deadline = clock_.Now() + kLookTimeout;
  read.digest = digest;
  for (const std::string& architecture : look.architectures) {
    WantedPlatform platform{.architecture = architecture};
    FileQuestion question = QuestionOf(look);
    const std::string key = ImageFileKey(digest, platform, question);
    if (const ImageFile* known = files_.Find(key)) {
      read.files[architecture] = *known;
      continue;
    }
    std::string version = digest;
    const ImageFileLimits limits;
    Result<ImageFile> file =
        co_await ReadImageFile(client, repository, std::move(version), std::move(platform),
                               std::move(question), limits, deadline);
    if (FailedWith(file, kube::Code::kCancelled)) co_return file.error();
    if (!file) {
      VLOG(1) << "image findings: " << Shown(look.image()) << " for " << architecture << ": "
              << kube::OneLine(file.error().ToString());
      continue;
    }
    files_.Put(key, *file);
    read.files[architecture] = std::move(*file);
  }
  co_return kube::Ok();
}

Async<> Learner::Conclude(const Look& look, const Read& read, const std::string& architecture,
                          const ImageFile& file) {
  const std::string& digest = read.digest;
  const Verdict verdict = look.failure ? Judge(look.failure->container, file, digest, architecture)
                                       : JudgeProgram(file, architecture);
  if (verdict == Verdict::kNothing || !is_on_) co_return kube::Ok();
  if (verdict == Verdict::kNotRead && !IsSecondPod(look, digest, architecture))
    co_return kube::Ok();
  const bool is_promised =
      verdict == Verdict::kNeedsLevel && file.program().format.elf.amd64_level <= read.amd64_level;
  if (is_promised || (verdict == Verdict::kNeedsLevel && !wants_levels_)) co_return kube::Ok();
  ImageFinding finding = FindingOf(look, digest, architecture, file, verdict);
  const std::string description = Describe(finding);
  Result<bool> saved = co_await store_.Save(std::move(finding));
  if (!saved) {
    LOG(WARNING) << "image findings: " << kube::OneLine(saved.error().ToString());
    co_return saved.error();
  }
  if (!*saved) co_return kube::Ok();
  LOG(INFO) << "image findings: " << Shown(look.image()) << " (" << digest << ") on "
            << architecture << ": " << description;
  if (look.failure && verdict != Verdict::kNeedsLevel) {
    events_.Record(look.failure->about, /*warning=*/false, api::kReasonImageFinding,
                   "New pods of " + Shown(look.image()) + " are not placed on " + architecture +
                       " any more, as long as another architecture is left: " + description);
  }
  co_return kube::Ok();
}

bool Learner::IsSecondPod(const Look& look, const std::string& digest,
                          const std::string& architecture) {
  const FailedContainer& container = look.failure->container;
  const std::string key = digest + " " + architecture + " " + look.ns() + " " + container.path;
  const FirstPod* first = first_pods_.Find(key);
  const bool is_second = first != nullptr && first->uid != container.uid &&
                         clock_.Now() < first->at + kSecondPodWithin;
  if (!is_second) first_pods_.Put(key, {container.uid, clock_.Now()});
  return is_second;
}

}  // namespace exec_format
