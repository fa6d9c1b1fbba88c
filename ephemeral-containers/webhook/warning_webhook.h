// SPDX-License-Identifier: Apache-2.0
// WarningWebhook answers AdmissionReviews of pods/ephemeralcontainers: it always allows them, with
// a warning for each new container whose image is not for the pod's node. There is no warning for
// what is not known in time, or is beyond a limit: a metric counts these, with the reason.
//
// A review is examined by a task, so that a slow registry or API server delays no answer: the task
// ends by itself, and until then holds the place of its review. Namespaces cannot take the places
// of others; a review that waits holds what was read of it, and not its text.
// Thread: the client's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pod_inspector.h"
#include "ephemeral-containers/names.h"
#include "ephemeral-containers/webhook/ephemeral_review.h"
#include "ephemeral-containers/webhook/node_reader.h"
#include "ephemeral-containers/webhook/path_watch.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/queue/fair_share.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "kube/types/resource.h"

namespace ephemeral {

// Reviews that are examined at a time; further ones are allowed at once. Some namespaces that take
// all places take none from the others, up to the maximum: a task may outlive its answer, so the
// server's connections do not bound them.
inline constexpr kube::FairShareOptions kReviews{
    .per_namespace = 8, .total = 64, .first_always_enters = true};
inline constexpr size_t kMaxReviews = 256;
// From the arrival of a review to its answer. The API server has the rest of kTimeout for the way.
inline constexpr std::chrono::milliseconds kAnswerWithin{4'000};
static_assert(kAnswerWithin < kTimeout);
// Of the inspection of one image, and of its credentials before: what hangs takes the places of
// other namespaces' images for no longer. A result that comes after the answer is for the next
// review.
inline constexpr std::chrono::milliseconds kInspectWithin{5'000};
// Of one pull secret: what hangs ends soon after the answer.
inline constexpr std::chrono::milliseconds kSecretReadTimeout{1'000};
// Reviews whose pull secrets are being read. Some namespaces with many secrets keep no other one
// from reading its own.
inline constexpr kube::FairShareOptions kSecretReaders{
    .per_namespace = 4, .total = 12, .first_always_enters = true};

class WarningWebhook {
 public:
  // All outlive it except `tasks`, which must have stopped before it is destroyed. It gets the
  // results of `queue` and the turns of `inspector`, which have no other user.
  WarningWebhook(cluster_controller::InspectionQueue& queue,
                 cluster_controller::PodInspector& inspector, kube::Executor executor,
                 kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks,
                 kube::Metrics& metrics);
  ~WarningWebhook();

  // Adds the webhook to `server`, which then admits no other path than that of `path`, and must
  // stop before both are destroyed.
  void AddTo(kube::HttpsServer& server, const PathWatch& path);

  // 200 with an AdmissionReview that allows the request; 400 if the body is not a review.
  kube::Async<kube::HttpReply> Answer(kube::HttpCall call);

 private:
  struct Examination;
  using SharedExamination = std::shared_ptr<Examination>;

  // Why there is no warning about a container, or about those of a whole review.
  struct Skipped {
    explicit Skipped(kube::Metrics& metrics);
    kube::Counter& busy;        // kReviews, kMaxReviews
    kube::Counter& containers;  // EphemeralReview::left_out
    kube::Counter& node;        // the platform of the node cannot be read
    kube::Counter& inspection;  // the image cannot be inspected, or the pull secrets not be read
    kube::Counter& deadline;    // not known within kAnswerWithin
  };
  struct Reviews {
    explicit Reviews(kube::Metrics& metrics);
    kube::Counter& warned;
    kube::Counter& unwarned;
    kube::Counter& invalid;
  };

  kube::Async<std::vector<std::string>> WarningsFor(EphemeralReview review);
  kube::asio::awaitable<void> Examine(SharedExamination examination);
  // Adds the warnings about the images, as they become known.
  kube::asio::awaitable<void> ExamineImages(SharedExamination examination, NodePlatform node);
  void Wake(const kube::ObjectKey& key);

  cluster_controller::PodInspector& inspector_;
  kube::Executor executor_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  Reviews reviews_;
  Skipped skipped_;
  kube::Histogram& response_time_;
  EphemeralReviewReader reader_;
  NodeReader nodes_;
  kube::FairShare places_{kReviews};
  uint64_t last_ = 0;
  // By the keys under which their images wait.
  std::unordered_map<kube::ObjectKey, SharedExamination> waiting_;
};

}  // namespace ephemeral
