// SPDX-License-Identifier: Apache-2.0
#include "inspection/inspector.h"

#include <map>
#include <optional>

#include "inspection/image_reader.h"
#include "inspection/lru_map.h"
#include "inspection/config/policy.h"
#include "inspection/reference.h"
#include "inspection/config/registries_config.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/notifier.h"
#include "kube/http/proxy.h"
#include "kube/http/tls.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;
using placement::ArchitectureSet;

// Everything that one configuration determines; replaced as a whole, while calls under way keep theirs alive.
struct Setup {
  Setup(kube::Executor executor, kube::Clock& clock, RegistryClientOptions client_options, size_t capacity)
      : client(std::move(executor), clock, std::move(client_options)),
        reader(client),
        images(capacity),
        tags(capacity),
        failures(capacity) {}

  struct Tag {
    std::string digest;
    kube::TimePoint believed_until;
  };
  struct Failure {
    Error error;
    kube::TimePoint believed_until;
  };
  // Several ask for the same: one reads, the others wait.
  struct Flight {
    kube::Notifier done;
    std::optional<Result<ImagePlatforms>> result;
  };

  RegistriesConfig registries;
  Policy policy;
  RegistryClient client;
  ImageReader reader;
  LruMap<ImagePlatforms> images;  // by digest: true for ever
  LruMap<Tag> tags;               // by what is asked, and with which credentials
  LruMap<Failure> failures;       // likewise
  std::map<std::string, std::shared_ptr<Flight>> flights;
};

// One image as one pod asks for it.
struct Question {
  Reference reference;
  bool always_pull = false;
  std::vector<Repository> repositories;  // mirrors first

  // Equal for those who may share an answer.
  std::string Key() const {
    std::string key = reference.ToString();
    for (const Repository& repository : repositories) {
      for (const Credential& credential : repository.credentials) key += " " + credential.Identity();
    }
    return key;
  }
};

class Inspector final : public ImageInspector {
 public:
  Inspector(kube::Executor executor, kube::Clock& clock, InspectorOptions options)
      : executor_(std::move(executor)), clock_(clock), options_(std::move(options)) {
    setup_ = NewSetup({});
  }

  Async<ArchitectureSet> Architectures(ImageRequest request) override {
    std::shared_ptr<Setup> setup = setup_;
    std::string what = "inspect " + request.image.substr(0, kShownName);
    Result<Question> question = Ask(*setup, request);
    if (!question) co_return question.error().Prefix(what);
    Result<ImagePlatforms> image = co_await Find(setup, std::move(*question));
    if (!image) co_return image.error().Prefix(what);

    if (image->bundle) co_return placement::AllArchitectures();
    ArchitectureSet architectures;
    for (const Platform& platform : image->platforms) {
      if (platform.os == request.os) architectures.insert(platform.architecture);
    }
    co_return architectures;
  }

  Result<void> SetConfig(InspectorConfig config) override {
    if (config == config_) return kube::Ok();
    Result<RegistriesConfig> registries = RegistriesConfig::Parse(config.registries_conf);
    if (!registries) return registries.error();
    Result<Policy> policy = Policy::Parse(config.policy_json);
    if (!policy) return policy.error();
    if (!config.ca_bundle_pem.empty()) {
      kube::TlsOptions bundle{.ca_pem = config.ca_bundle_pem};
      Result<std::shared_ptr<kube::TlsContext>> tls = kube::TlsContext::New(bundle);
      if (!tls) return tls.error().Prefix("CA bundle");
    }

    std::shared_ptr<Setup> setup = NewSetup(config);
    setup->registries = std::move(*registries);
    setup->policy = std::move(*policy);
    setup_ = std::move(setup);
    config_ = std::move(config);
    return kube::Ok();
  }

  InspectorStats stats() const override {
    uint64_t token_requests = setup_->client.token_requests();
    return {.requests = setup_->client.calls() - token_requests, .token_requests = token_requests};
  }

 private:
  static constexpr size_t kShownName = 256;

  std::shared_ptr<Setup> NewSetup(const InspectorConfig& config) {
    RegistryClientOptions options;
    options.transport.ca_pem = config.ca_bundle_pem;
    options.transport.host_tls = config.certificates;
    // Docker Hub's name is not that of its host.
    auto hub = config.certificates.find(std::string(kDockerHub));
    if (hub != config.certificates.end()) options.transport.host_tls.emplace(kDockerHubHost, hub->second);
    options.transport.proxy = kube::ProxySettings::FromEnvironment();
    options.transport.trace = options_.trace;
    return std::make_shared<Setup>(executor_, clock_, std::move(options), options_.capacity);
  }

  // Who is asked, and with what.
  Result<Question> Ask(const Setup& setup, const ImageRequest& request) const {
    Result<Reference> reference = Reference::Parse(request.image);
    if (!reference) return reference.error();
    Result<void> allowed = setup.policy.Check(*reference);
    if (!allowed) return allowed.error();
    Result<std::vector<PullSource>> sources = setup.registries.Sources(*reference);
    if (!sources) return sources.error();

    Question question{.reference = std::move(*reference), .always_pull = request.always_pull, .repositories = {}};
    for (PullSource& source : *sources) {
      std::vector<Credential> credentials = request.keyring.Match(source.registry, source.repository);
      question.repositories.push_back({std::move(source), std::move(credentials)});
    }
    return question;
  }

  // From memory, or by a flight of its own, or by joining one that is under way.
  Async<ImagePlatforms> Find(std::shared_ptr<Setup> setup, Question question) {
    co_await kube::IgnoreCancellation();
    std::string key = question.Key();
    while (true) {
      if (Setup::Failure* failure = setup->failures.Find(key); failure != nullptr) {
        if (clock_.Now() < failure->believed_until) co_return failure->error;
      }
      if (ImagePlatforms* image = Remembered(*setup, key, question); image != nullptr) co_return *image;
      auto found = setup->flights.find(key);
      if (found == setup->flights.end()) break;
      std::shared_ptr<Setup::Flight> flight = found->second;
      while (!flight->result) {
        Result<void> waited = co_await flight->done.Wait();
        if (!waited) co_return waited.error();
      }
      // Only its own caller was cancelled: somebody else has to fly.
      if (!FailedWith(*flight->result, kube::Code::kCancelled)) co_return *flight->result;
    }
    auto flight = std::make_shared<Setup::Flight>();
    setup->flights[key] = flight;
    Result<ImagePlatforms> image = co_await Fly(setup, key, std::move(question));
    flight->result = image;
    setup->flights.erase(key);
    flight->done.NotifyAll();
    co_return image;
  }

  ImagePlatforms* Remembered(Setup& setup, const std::string& key, const Question& question) {
    if (!question.reference.digest.empty()) return setup.images.Find(question.reference.digest);
    Setup::Tag* tag = setup.tags.Find(key);
    if (tag == nullptr || question.always_pull || clock_.Now() >= tag->believed_until) return nullptr;
    return setup.images.Find(tag->digest);
  }

  Async<ImagePlatforms> Fly(std::shared_ptr<Setup> setup, std::string key, Question question) {
    kube::TimePoint deadline = clock_.Now() + options_.timeout;
    bool known_tag = question.reference.digest.empty() && setup->tags.Find(key) != nullptr;
    Result<ImagePlatforms> image = Error::Internal("no registry to ask");
    for (size_t i = 0; i < question.repositories.size(); ++i) {
      const Repository& repository = question.repositories[i];
      if (options_.trace) {
        options_.trace("from " + repository.source.registry + "/" + repository.source.repository + ": " +
                       repository.source.why);
      }
      // A silent mirror must leave time for those after it.
      kube::Duration left = deadline - clock_.Now();
      kube::TimePoint turn = clock_.Now() + left / (question.repositories.size() - i);
      image = co_await ReadFrom(setup, repository, question.reference.Version(), known_tag, turn);
      if (image || image.error().code() == kube::Code::kCancelled) break;
    }
    if (image) {
      setup->images.Put(image->digest, *image);
      setup->tags.Put(key, {image->digest, clock_.Now() + options_.tag_ttl});
    } else if (image.error().code() != kube::Code::kCancelled) {
      setup->failures.Put(key, {image.error(), clock_.Now() + options_.error_ttl});
    }
    co_return image;
  }

  // A tag that was seen before is looked up by HEAD: where it has not moved, nothing more is read.
  Async<ImagePlatforms> ReadFrom(std::shared_ptr<Setup> setup, Repository repository, std::string version,
                                 bool known_tag, kube::TimePoint deadline) {
    if (known_tag) {
      auto digest = co_await setup->client.ManifestDigest(repository, version, deadline);
      // Some refuse HEAD: kInvalid.
      if (!digest && digest.error().code() != kube::Code::kInvalid) co_return digest.error();
      if (digest && *digest) {
        ImagePlatforms* image = setup->images.Find(**digest);
        if (image != nullptr) co_return *image;
      }
    }
    Result<ImagePlatforms> image = co_await setup->reader.Read(std::move(repository), std::move(version), deadline);
    co_return image;
  }

  kube::Executor executor_;
  kube::Clock& clock_;
  InspectorOptions options_;
  InspectorConfig config_;
  std::shared_ptr<Setup> setup_;
};

}  // namespace

std::unique_ptr<ImageInspector> NewImageInspector(kube::Executor executor, kube::Clock& clock,
                                                  InspectorOptions options) {
  return std::make_unique<Inspector>(std::move(executor), clock, std::move(options));
}

}  // namespace inspection
