// SPDX-License-Identifier: Apache-2.0
#include "inspection/inspector.h"

#include <map>
#include <optional>
#include <set>

#include "inspection/config/policy.h"
#include "inspection/config/registries_config.h"
#include "inspection/image_reader.h"
#include "inspection/reference.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/lru_map.h"
#include "kube/base/notifier.h"
#include "kube/base/slots.h"
#include "kube/http/proxy.h"
#include "kube/http/tls.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;
using placement::ArchitectureSet;

// Everything that one configuration determines; replaced as a whole, while calls under way keep
// theirs alive.
struct Setup {
  Setup(kube::Executor executor, kube::Clock& clock, RegistryClientOptions client_options,
        size_t capacity)
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
  ContainerdHosts containerd;
  RegistryClient client;
  ImageReader reader;
  std::optional<CredentialProviders> providers;  // none: without any
  kube::LruMap<ImagePlatforms> images;           // by digest: true for ever
  kube::LruMap<Tag> tags;                        // by what is asked, and with which credentials
  kube::LruMap<Failure> failures;                // likewise
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
      for (const Credential& credential : repository.credentials)
        key += " " + credential.Identity();
    }
    return key;
  }
};

class Inspector final : public ImageInspector {
 public:
  Inspector(kube::Executor executor, kube::Clock& clock, InspectorOptions options)
      : executor_(std::move(executor)),
        clock_(clock),
        options_(std::move(options)),
        large_bodies_(std::make_shared<kube::Slots>(executor_, clock_, options_.large_bodies,
                                                    "a large body's turn")) {
    setup_ = NewSetup({}, {});
  }

  Async<ArchitectureSet> Architectures(ImageRequest request) override {
    std::shared_ptr<Setup> setup = setup_;
    std::string what = "inspect " + request.image.substr(0, kShownName);
    Result<Reference> reference = Reference::Parse(request.image);
    if (!reference) co_return reference.error().Prefix(what);
    ProvidedCredentials provided;
    if (setup->providers) provided = co_await setup->providers->For(*reference);
    std::string problem = std::move(provided.problem);
    if (request.keyring != nullptr && !request.keyring->problem().empty()) {
      problem = problem.empty() ? request.keyring->problem()
                                : request.keyring->problem() + "; " + problem;
    }
    if (!provided.keyring.empty())
      request.keyring = Together(request.keyring, provided.keyring, problem);
    Result<Question> question = Ask(*setup, std::move(*reference), request);
    // From here on only the credentials that are for this image are in memory.
    request.keyring.reset();
    if (!question) co_return question.error().Prefix(what);
    Result<ImagePlatforms> image = co_await Find(setup, std::move(*question));
    if (!image) co_return Explain(image.error(), problem).Prefix(what);
    co_return ArchitecturesFor(*image, request.os);
  }

  std::optional<Result<ArchitectureSet>> Remembered(const ImageRequest& request) override {
    // A plugin may know credentials that are part of the question.
    if (setup_->providers) return std::nullopt;
    Result<Reference> reference = Reference::Parse(request.image);
    if (!reference) return std::nullopt;
    Result<Question> question = Ask(*setup_, std::move(*reference), request);
    if (!question) return std::nullopt;
    std::string key = question->Key();
    if (Setup::Failure* failure = setup_->failures.Find(key); failure != nullptr) {
      if (clock_.Now() < failure->believed_until) return std::nullopt;
    }
    ImagePlatforms* image = Known(*setup_, key, *question);
    if (image == nullptr) return std::nullopt;
    return ArchitecturesFor(*image, request.os);
  }

  Result<void> SetConfig(InspectorConfig config) override {
    if (config == config_) return kube::Ok();
    Result<RegistriesConfig> registries = RegistriesConfig::Parse(config.registries_conf);
    if (!registries) return registries.error();
    for (const std::string& text : config.registries_conf_drop_ins) {
      Result<RegistriesConfig> drop_in = RegistriesConfig::Parse(text);
      if (!drop_in) return drop_in.error().Prefix("drop-in");
      registries->Merge(std::move(*drop_in));
    }
    Result<Policy> policy = Policy::Parse(config.policy_json);
    if (!policy) return policy.error();
    registries->Add(config.cluster_rules);
    if (!config.cluster_rules.allowed.empty()) policy->AllowOnly(config.cluster_rules.allowed);
    if (!config.ca_bundle_pem.empty()) {
      kube::TlsOptions bundle{.ca_pem = config.ca_bundle_pem};
      Result<std::shared_ptr<kube::TlsContext>> tls = kube::TlsContext::New(bundle);
      if (!tls) return tls.error().Prefix("CA bundle");
    }

    std::set<std::string> named_hosts = registries->Hosts();
    named_hosts.merge(config.containerd_hosts.Hosts());
    std::shared_ptr<Setup> setup = NewSetup(config, std::move(named_hosts));
    setup->registries = std::move(*registries);
    setup->policy = std::move(*policy);
    setup->containerd = config.containerd_hosts;
    if (!config.credential_providers.providers.empty())
      setup->providers.emplace(clock_, config.credential_providers);
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

  static ArchitectureSet ArchitecturesFor(const ImagePlatforms& image, const std::string& os) {
    if (image.bundle) return placement::AllArchitectures();
    ArchitectureSet architectures;
    for (const Platform& platform : image.platforms) {
      if (platform.os == os) architectures.insert(platform.architecture);
    }
    return architectures;
  }

  std::shared_ptr<Setup> NewSetup(const InspectorConfig& config,
                                  std::set<std::string> named_hosts) {
    RegistryClientOptions options;
    options.transport.ca_pem = config.ca_bundle_pem;
    options.transport.host_tls = config.certificates;
    options.transport.host_tls.insert(config.containerd_hosts.certificates().begin(),
                                      config.containerd_hosts.certificates().end());
    // Docker Hub's name is not that of its host.
    auto hub = options.transport.host_tls.find(std::string(kDockerHub));
    if (hub != options.transport.host_tls.end())
      options.transport.host_tls.emplace(kDockerHubHost, hub->second);
    if (named_hosts.contains(std::string(kDockerHub))) named_hosts.emplace(kDockerHubHost);
    options.transport.named_hosts = std::move(named_hosts);
    options.transport.proxy = kube::ProxySettings::FromEnvironment();
    options.transport.large_bodies = large_bodies_;
    options.transport.trace = options_.trace;
    return std::make_shared<Setup>(executor_, clock_, std::move(options), options_.capacity);
  }

  // A password that was to come from a plugin, or from a secret that is not used, may be what is
  // missing.
  static Error Explain(const Error& error, const std::string& problem) {
    bool refused = error.code() == kube::Code::kUnauthenticated ||
                   error.code() == kube::Code::kPermissionDenied;
    return refused && !problem.empty() ? error.Prefix(problem) : error;
  }

  // The pod's own credentials, then those of plugins as far as there is room.
  static SharedKeyring Together(const SharedKeyring& own, const Keyring& provided,
                                std::string& problem) {
    Keyring all = own == nullptr ? Keyring() : *own;
    Result<void> added = all.Append(provided);
    if (!added && problem.empty()) problem = "credential providers: " + added.error().message();
    return std::make_shared<const Keyring>(std::move(all));
  }

  // Who is asked, and with what.
  Result<Question> Ask(const Setup& setup, Reference reference, const ImageRequest& request) const {
    std::string about = "registry " + reference.registry;
    Result<void> allowed = setup.policy.Check(reference);
    if (!allowed) return allowed.error().Prefix(about);
    Result<std::vector<PullSource>> sources = setup.registries.Sources(reference);
    if (!sources) return sources.error();

    Question question{
        .reference = std::move(reference), .always_pull = request.always_pull, .repositories = {}};
    bool by_digest = !question.reference.digest.empty();
    for (PullSource& source : *sources) {
      Result<std::vector<PullSource>> places =
          setup.containerd.Expand(std::move(source), by_digest);
      if (!places) return places.error().Prefix(about);
      for (PullSource& place : *places) {
        std::vector<Credential> credentials;
        if (request.keyring != nullptr)
          credentials = request.keyring->Match(place.registry, place.repository);
        question.repositories.push_back({std::move(place), std::move(credentials)});
      }
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
      if (ImagePlatforms* image = Known(*setup, key, question); image != nullptr) co_return *image;
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

  ImagePlatforms* Known(Setup& setup, const std::string& key, const Question& question) {
    if (!question.reference.digest.empty()) return setup.images.Find(question.reference.digest);
    Setup::Tag* tag = setup.tags.Find(key);
    if (tag == nullptr || question.always_pull || clock_.Now() >= tag->believed_until)
      return nullptr;
    return setup.images.Find(tag->digest);
  }

  Async<ImagePlatforms> Fly(std::shared_ptr<Setup> setup, std::string key, Question question) {
    kube::TimePoint deadline = clock_.Now() + options_.timeout;
    bool known_tag = question.reference.digest.empty() && setup->tags.Find(key) != nullptr;
    Result<ImagePlatforms> image = Error::Internal("no registry to ask");
    for (size_t i = 0; i < question.repositories.size(); ++i) {
      const Repository& repository = question.repositories[i];
      if (options_.trace) {
        options_.trace("from " + repository.source.registry + "/" + repository.source.repository +
                       ": " + repository.source.why);
      }
      // A silent mirror must leave time for those after it.
      kube::Duration left = deadline - clock_.Now();
      kube::TimePoint turn = clock_.Now() + left / (question.repositories.size() - i);
      image = co_await ReadFrom(setup, repository, question.reference.Version(), known_tag, turn);
      // Whatever is wrong with it, the user is told where it was.
      std::string about = "registry " + repository.source.registry;
      if (!image && !image.error().message().starts_with(about))
        image = image.error().Prefix(about);
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
  Async<ImagePlatforms> ReadFrom(std::shared_ptr<Setup> setup, Repository repository,
                                 std::string version, bool known_tag, kube::TimePoint deadline) {
    if (known_tag) {
      auto digest = co_await setup->client.ManifestDigest(repository, version, deadline);
      // Some refuse HEAD: kInvalid.
      if (!digest && digest.error().code() != kube::Code::kInvalid) co_return digest.error();
      if (digest && *digest) {
        ImagePlatforms* image = setup->images.Find(**digest);
        if (image != nullptr) co_return *image;
      }
    }
    Result<ImagePlatforms> image =
        co_await setup->reader.Read(std::move(repository), std::move(version), deadline);
    co_return image;
  }

  kube::Executor executor_;
  kube::Clock& clock_;
  InspectorOptions options_;
  std::shared_ptr<kube::Slots>
      large_bodies_;  // of all configurations: those before the newest have calls, too
  InspectorConfig config_;
  std::shared_ptr<Setup> setup_;
};

}  // namespace

std::string RegistryOf(const std::string& image) {
  Result<Reference> reference = Reference::Parse(image);
  return reference ? reference->registry : "";
}

std::unique_ptr<ImageInspector> NewImageInspector(kube::Executor executor, kube::Clock& clock,
                                                  InspectorOptions options) {
  return std::make_unique<Inspector>(std::move(executor), clock, std::move(options));
}

}  // namespace inspection
