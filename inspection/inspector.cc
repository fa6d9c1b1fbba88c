// SPDX-License-Identifier: Apache-2.0
#include "inspection/inspector.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "inspection/base/digest.h"
#include "inspection/base/reference.h"
#include "inspection/cloud/cloud_credentials.h"
#include "inspection/cloud/new_exchanges.h"
#include "inspection/config/fingerprint.h"
#include "inspection/config/image_policy.h"
#include "inspection/config/registries_config.h"
#include "inspection/image_reader.h"
#include "inspection/registry/registry_client.h"
#include "kube/base/lru_map.h"
#include "kube/base/slots.h"
#include "kube/http/proxy.h"
#include "kube/http/tls.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::Result;
using placement::ImagePlatforms;
using placement::SharedPlatforms;

// Everything that depends on the configuration. A new configuration gets a new Generation; calls in
// flight keep theirs alive.
struct Generation {
  Generation(kube::Executor executor, kube::Clock& clock, RegistryClientOptions client_options,
             size_t capacity)
      : client(std::move(executor), clock, std::move(client_options)),
        images(capacity),
        tags(capacity),
        failures(capacity) {}

  struct Tag {
    std::string digest;
    kube::TimePoint read;
  };
  struct Failure {
    Error error;
    kube::TimePoint expires;
  };

  uint64_t number = 0;
  RegistriesConfig registries;
  ImagePolicy policy;
  ContainerdHosts containerd;
  RegistryClient client;
  std::optional<CredentialProviders> providers;  // nullopt where none is configured
  CloudCredentials* cloud = nullptr;             // nullptr where none is configured
  kube::LruMap<SharedPlatforms> images;          // by Query::ImageKey(); never expires
  kube::LruMap<Tag> tags;                        // by Query::Key()
  kube::LruMap<Failure> failures;                // by Query::Key()
};

// One image with the places where it is looked for.
struct Query {
  Reference reference;
  Use use = Use::kContainer;
  bool always_pull = false;
  ImageVisit visit = {};                 // may be empty
  SharedPodIdentity pod = {};            // may be nullptr
  std::vector<Repository> repositories;  // mirrors first
  // Set where plugins or clouds add credentials: the identities of all of them, with those that
  // could not be had for a moment. What was read with these before is for the same pods.
  std::optional<std::string> identities = {};
  // Why one could not be had for a moment.
  std::optional<Error> outage = {};

  // Equal for queries that have the same answer and the right to it.
  std::string Key() const {
    std::string credentials = CredentialIdentities();
    std::string key = ImageKey(reference.ToString());
    return credentials.empty() ? key : key + " " + Sha256Digest(credentials);
  }
  // What is known of an image depends on its use.
  std::string ImageKey(const std::string& digest) const {
    return use == Use::kVolume ? "volume " + digest : digest;
  }
  bool HasCredentials() const {
    return std::any_of(repositories.begin(), repositories.end(),
                       [](const Repository& each) { return !each.credentials.empty(); });
  }
  // Who has all credentials with which the image is looked for.
  Holders LeastHolders() const {
    Holders least = Holders::kEveryPod;
    for (const Repository& repository : repositories) {
      for (const Credential& credential : repository.credentials)
        least = std::max(least, credential.holders);
    }
    return least;
  }
  // Empty without credentials.
  std::string CredentialIdentities() const {
    if (identities) return *identities;
    std::string all;
    for (size_t i = 0; i < repositories.size(); ++i) {
      for (const Credential& credential : repositories[i].credentials)
        all += std::to_string(i) + " " + credential.Identity() + " ";
    }
    return all;
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
    generation_ = NewGeneration({}, {});
    // An installation may have no other configuration.
    UpdateCloud({});
    generation_->cloud = cloud_.get();
  }

  Async<Inspected> Inspect(ImageRequest request) override {
    std::shared_ptr<Generation> generation = generation_;
    std::string about = "inspect " + request.image.substr(0, kShownName);
    Result<Reference> reference = Reference::Parse(request.image);
    if (!reference) co_return reference.error().Prefix(about);

    // What needs no credential, and no other program or request.
    Result<Query> query = NewQuery(*generation, *reference, request);
    if (!query) co_return query.error().Prefix(about);
    if (std::optional<Found> known = FindDigest(*generation, *query)) {
      LearnAgain(generation, *query, *known);
      co_return AnswerOf(std::move(*known));
    }

    // The credentials: the pod's own, then those of the plugins.
    ProvidedCredentials provided;
    kube::TimePoint deadline = clock_.Now() + options_.credentials_timeout;
    if (generation->providers)
      provided = co_await generation->providers->For(*reference, request.pod, deadline);
    std::string problem = std::move(provided.problem);
    if (request.keyring != nullptr && !request.keyring->problem().empty()) {
      problem = problem.empty() ? request.keyring->problem()
                                : request.keyring->problem() + "; " + problem;
    }
    // Of the pod's own, and of the plugins': a password of theirs may be another each time.
    std::string identities = query->CredentialIdentities() + provided.identity;
    if (!provided.keyring.empty()) {
      request.keyring = MergeKeyrings(request.keyring, provided.keyring, problem);
      query = NewQuery(*generation, std::move(*reference), request);
    }
    // From here on, only the credentials for this image are in memory, not the whole keyring.
    request.keyring.reset();
    if (!query) co_return query.error().Prefix(about);
    query->identities = std::move(identities);
    if (provided.pod_gone) {
      // Its failure is not cached for the other pods of the account.
      *query->identities += "without " + request.pod->uid;
    } else {
      query->outage = std::move(provided.outage);
    }
    if (generation->cloud) {
      std::string ns = request.pod == nullptr ? "" : request.pod->ns;
      std::string cloud_problem =
          co_await AddCloudCredentials(*generation, *query, std::move(ns), deadline);
      if (problem.empty()) problem = std::move(cloud_problem);
    }
    Result<Inspected> image = co_await Find(generation, std::move(*query));
    if (!image && provided.pod_gone && IsRefusal(image.error())) {
      // No answer about the other pods of the account, which share this inspection.
      Error gone = Error::FromHttpStatus(503, std::string(kPodGone), image.error().message());
      co_return gone.Prefix(problem).Prefix(about);
    }
    if (!image) co_return AddProblem(image.error(), problem).Prefix(about);
    co_return image;
  }

  std::optional<Result<Inspected>> Cached(const ImageRequest& request) override {
    Result<Reference> reference = Reference::Parse(request.image);
    if (!reference) return std::nullopt;
    Result<Query> query = NewQuery(*generation_, std::move(*reference), request);
    if (!query) return std::nullopt;
    if (std::optional<Found> known = FindDigest(*generation_, *query)) {
      LearnAgain(generation_, *query, *known);
      return AnswerOf(std::move(*known));
    }
    // The credentials of plugins and clouds are part of the key, and are not known here.
    if (generation_->providers || UsesCloud(*generation_, *query)) return std::nullopt;
    std::string key = query->Key();
    const Generation::Failure* failure = FindFailure(*generation_, key);
    if (failure != nullptr) {
      std::optional<Inspected> stale = FindStale(*generation_, key, *query, failure->error);
      if (stale) return std::move(*stale);
      return std::nullopt;
    }
    std::optional<Found> image = FindImage(*generation_, key, *query);
    if (!image) return std::nullopt;
    LearnAgain(generation_, *query, *image);
    return AnswerOf(std::move(*image));
  }

  std::string SharingKey(const ImageRequest& request) const override {
    // The image comes last: tenants write it, and it may be any text.
    std::string key = std::to_string(generation_->number) +
                      (request.use == Use::kVolume ? " volume" : " container") +
                      (request.always_pull ? " always " : " cached ") + request.image;
    Result<Reference> reference = Reference::Parse(request.image);
    if (!reference) return key;
    if (generation_->providers) {
      std::string account = generation_->providers->SharingKey(*reference, request.pod);
      if (!account.empty()) key = "account " + account + " " + key;
    }
    if (request.keyring == nullptr) return key;
    // The whole keyring decides whether there is room for the credentials of a plugin.
    if (generation_->providers && generation_->providers->Matches(*reference))
      return key + " " + request.keyring->Identity();
    Result<Query> query = NewQuery(*generation_, std::move(*reference), request);
    if (!query) return key;
    // The problem is part of the error, and may name a Secret of the pod's namespace.
    std::string identities = query->CredentialIdentities() + request.keyring->problem();
    return identities.empty() ? key : key + " " + Sha256Digest(identities);
  }

  void Observe(std::function<void(Learned)> learned, std::function<void()> configured) override {
    learned_ = std::move(learned);
    configured_ = std::move(configured);
  }

  void Restore(const ImageAnswer& image, kube::Duration age) override {
    Result<Reference> reference = Reference::Parse(image.image);
    if (!reference) return;
    // As the keys of a query for a container without credentials.
    generation_->images.Put(image.digest, image.platforms);
    generation_->tags.Put(reference->ToString(), {image.digest, clock_.Now() - age});
  }

  const std::string& Configuration() const override { return configuration_; }

  Result<void> SetConfig(InspectorConfig config) override {
    if (config == config_) return kube::Ok();
    Result<RegistriesConfig> registries = RegistriesConfig::Parse(config.registries_conf);
    if (!registries) return registries.error();
    for (const std::string& text : config.registries_conf_drop_ins) {
      Result<RegistriesConfig> drop_in = RegistriesConfig::Parse(text);
      if (!drop_in) return drop_in.error().Prefix("drop-in");
      registries->Merge(std::move(*drop_in));
    }
    Result<ImagePolicy> policy = ImagePolicy::Parse(config.policy_json);
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
    std::shared_ptr<Generation> next = NewGeneration(config, std::move(named_hosts));
    next->number = generation_->number + 1;
    next->registries = std::move(*registries);
    next->policy = std::move(*policy);
    next->containerd = config.containerd_hosts;
    if (!config.credential_providers.providers.empty())
      next->providers.emplace(clock_, config.credential_providers, options_.account_tokens);
    UpdateCloud(config);
    next->cloud = cloud_.get();
    generation_ = std::move(next);
    config_ = std::move(config);
    std::string before = std::exchange(configuration_, Fingerprint(config_));
    if (configuration_ != before && configured_) configured_();
    return kube::Ok();
  }

 private:
  static constexpr size_t kShownName = 256;

  struct Found {
    SharedPlatforms platforms;
    std::string digest;
  };
  static Inspected AnswerOf(Found found, std::string stale = "") {
    return {std::move(found.platforms), std::move(stale), std::move(found.digest)};
  }

  std::shared_ptr<Generation> NewGeneration(const InspectorConfig& config,
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
    return std::make_shared<Generation>(executor_, clock_, std::move(options), options_.capacity);
  }

  // A failed plugin or an unused secret may be the reason why a registry refused the request.
  static Error AddProblem(const Error& error, const std::string& problem) {
    return IsRefusal(error) && !problem.empty() ? error.Prefix(problem) : error;
  }
  static bool IsRefusal(const Error& error) {
    return error.code() == kube::Code::kUnauthenticated ||
           error.code() == kube::Code::kPermissionDenied;
  }

  // The pod's own credentials, then those of plugins while there is room.
  static SharedKeyring MergeKeyrings(const SharedKeyring& own, const Keyring& provided,
                                     std::string& problem) {
    Keyring all = own == nullptr ? Keyring() : *own;
    Result<void> added = all.Append(provided);
    if (!added && problem.empty()) problem = "credential providers: " + added.error().message();
    return std::make_shared<const Keyring>(std::move(all));
  }

  // Credentials outlive a configuration: it changes the way to a cloud, not the identity in it.
  void UpdateCloud(const InspectorConfig& config) {
    if (options_.cloud.registries.empty()) return;
    if (cloud_ != nullptr && config.ca_bundle_pem == config_.ca_bundle_pem) return;
    TokenExchanges exchanges =
        NewTokenExchanges(executor_, clock_, options_.cloud.identity, config.ca_bundle_pem);
    if (cloud_ == nullptr) {
      cloud_ = std::make_unique<CloudCredentials>(clock_, options_.cloud.registries,
                                                  std::move(exchanges));
    } else {
      cloud_->ReplaceExchanges(std::move(exchanges));
    }
  }

  // Only where TLS says that the host is the cloud's.
  static bool IsOfCloud(const Generation& generation, const PullSource& source) {
    return generation.cloud != nullptr && !source.insecure && source.host.scheme != "http" &&
           generation.cloud->Matches(source.registry);
  }
  static bool UsesCloud(const Generation& generation, const Query& query) {
    return std::any_of(
        query.repositories.begin(), query.repositories.end(),
        [&](const Repository& repository) { return IsOfCloud(generation, repository.source); });
  }

  // Adds this process's own credentials, after the pod's. Returns why there are none for a registry
  // of a cloud; "" if there are.
  static kube::asio::awaitable<std::string> AddCloudCredentials(Generation& generation,
                                                                Query& query, std::string ns,
                                                                kube::TimePoint deadline) {
    co_await kube::IgnoreCancellation();
    std::string problem;
    for (size_t i = 0; i < query.repositories.size(); ++i) {
      Repository& repository = query.repositories[i];
      if (!IsOfCloud(generation, repository.source)) continue;
      std::string host = repository.source.registry;
      Result<Credential> credential = co_await generation.cloud->For(host, ns, deadline);
      bool is_outage = !credential && IsOutage(credential.error());
      if (credential || is_outage) {
        query.identities = query.CredentialIdentities() + std::to_string(i) + " " +
                           generation.cloud->IdentityFor(host) + " ";
      }
      if (credential) {
        repository.credentials.push_back(std::move(*credential));
        continue;
      }
      if (problem.empty()) problem = credential.error().message();
      if (is_outage && !query.outage) query.outage = credential.error();
    }
    co_return problem;
  }

  // The next inspection gets another credential of the cloud, as this one may have been revoked.
  static void NoteRefusal(Generation& generation, const Repository& repository) {
    if (!IsOfCloud(generation, repository.source)) return;
    for (const Credential& credential : repository.credentials)
      generation.cloud->Refused(repository.source.registry, credential);
  }

  // Where the image is looked for, and with which credentials.
  static Result<Query> NewQuery(const Generation& generation, Reference reference,
                                const ImageRequest& request) {
    std::string about = "registry " + reference.registry;
    Result<void> allowed = generation.policy.Check(reference);
    if (!allowed) return allowed.error().Prefix(about);
    Result<std::vector<PullSource>> sources = generation.registries.Sources(reference);
    if (!sources) return sources.error();

    Query query{.reference = std::move(reference),
                .use = request.use,
                .always_pull = request.always_pull,
                .visit = request.visit,
                .pod = request.pod,
                .repositories = {}};
    bool by_digest = !query.reference.digest.empty();
    for (PullSource& source : *sources) {
      Result<std::vector<PullSource>> places =
          generation.containerd.Expand(std::move(source), by_digest);
      if (!places) return places.error().Prefix(about);
      for (PullSource& place : *places) {
        std::vector<Credential> credentials;
        if (request.keyring != nullptr)
          credentials = request.keyring->Match(place.registry, place.repository);
        query.repositories.push_back({std::move(place), std::move(credentials)});
      }
    }
    return query;
  }

  // From the cache, else from a registry, else what was in the cache.
  Async<Inspected> Find(std::shared_ptr<Generation> generation, Query query) {
    co_await kube::IgnoreCancellation();
    std::string key = query.Key();
    Generation::Failure* failure = query.visit ? nullptr : FindFailure(*generation, key);
    if (failure != nullptr) co_return StaleOr(failure->error, *generation, key, query);
    std::optional<Found> cached = FindImage(*generation, key, query);
    if (cached) {
      LearnAgain(generation, query, *cached);
      co_return AnswerOf(std::move(*cached));
    }
    Result<Found> image = co_await ReadFromAny(generation, key, query);
    // It was refused without a credential that it can be read with at another time.
    if (!image && IsRefusal(image.error()) && query.outage)
      image = query.outage->Prefix(image.error().message());
    if (!image && query.visit) co_return image.error();
    if (!image) {
      if (image.error().code() != kube::Code::kCancelled)
        generation->failures.Put(key, {image.error(), clock_.Now() + kFailureLifetime});
      co_return StaleOr(image.error(), *generation, key, query);
    }
    kube::TimePoint now = clock_.Now();
    generation->tags.Put(key, {image->digest, now});
    Learn(generation, query, *image, now);
    co_return AnswerOf(std::move(*image));
  }

  void Learn(const std::shared_ptr<Generation>& generation, const Query& query, const Found& found,
             kube::TimePoint read) {
    if (query.use != Use::kContainer || !learned_ || generation != generation_) return;
    learned_({{query.reference.ToString(), found.digest, found.platforms},
              query.LeastHolders(),
              !query.HasCredentials(),
              read,
              query.pod,
              query.always_pull});
  }
  // What is in the cache, if it was read with these credentials.
  void LearnAgain(const std::shared_ptr<Generation>& generation, const Query& query,
                  const Found& found) {
    if (!learned_) return;
    // The credentials of plugins and clouds are not known yet.
    bool is_known =
        query.identities.has_value() || (!generation->providers && !UsesCloud(*generation, query));
    Generation::Tag* tag = is_known ? generation->tags.Find(query.Key()) : nullptr;
    if (tag == nullptr) return;
    bool by_digest = !query.reference.digest.empty();
    Learn(generation, query, found, by_digest ? clock_.Now() : tag->read);
  }

  Result<Inspected> StaleOr(Error error, Generation& generation, const std::string& key,
                            const Query& query) {
    std::optional<Inspected> stale = FindStale(generation, key, query, error);
    if (stale) return std::move(*stale);
    return error;
  }

  // What the tag named, if the registry does not answer.
  std::optional<Inspected> FindStale(Generation& generation, const std::string& key,
                                     const Query& query, const Error& error) {
    const Generation::Tag* tag = generation.tags.Find(key);
    if (!IsOutage(error) || tag == nullptr) return std::nullopt;
    kube::Duration age = clock_.Now() - tag->read;
    const SharedPlatforms* image = generation.images.Find(query.ImageKey(tag->digest));
    if (age > kStaleLifetime || image == nullptr) return std::nullopt;
    auto minutes = std::chrono::floor<std::chrono::minutes>(age).count();
    return AnswerOf({*image, tag->digest}, query.reference.ToString().substr(0, kShownName) +
                                               " was read " + std::to_string(minutes) +
                                               " minutes ago, since then: " + error.message());
  }

  Generation::Failure* FindFailure(Generation& generation, const std::string& key) {
    Generation::Failure* failure = generation.failures.Find(key);
    return failure != nullptr && clock_.Now() < failure->expires ? failure : nullptr;
  }

  // The image of a reference with a digest, which needs no credential.
  static std::optional<Found> FindDigest(Generation& generation, const Query& query) {
    const std::string& digest = query.reference.digest;
    if (digest.empty() || query.visit) return std::nullopt;
    const SharedPlatforms* known = generation.images.Find(query.ImageKey(digest));
    if (known == nullptr) return std::nullopt;
    return Found{*known, digest};
  }

  std::optional<Found> FindImage(Generation& generation, const std::string& key,
                                 const Query& query) {
    if (!query.reference.digest.empty()) return FindDigest(generation, query);
    const Generation::Tag* tag = generation.tags.Find(key);
    if (tag == nullptr || query.always_pull || query.visit ||
        clock_.Now() >= tag->read + kTagLifetime)
      return std::nullopt;
    const SharedPlatforms* known = generation.images.Find(query.ImageKey(tag->digest));
    if (known == nullptr) return std::nullopt;
    return Found{*known, tag->digest};
  }

  // From the first of the query's repositories that has it.
  Async<Found> ReadFromAny(std::shared_ptr<Generation> generation, std::string key, Query query) {
    kube::TimePoint deadline = clock_.Now() + options_.timeout;
    bool known_tag =
        query.reference.digest.empty() && !query.visit && generation->tags.Find(key) != nullptr;
    Result<Found> image = Error::Internal("no registry to ask");
    for (size_t i = 0; i < query.repositories.size(); ++i) {
      const Repository& repository = query.repositories[i];
      if (options_.trace) {
        options_.trace("from " + repository.source.registry + "/" + repository.source.repository +
                       ": " + repository.source.reason);
      }
      // A mirror that does not answer must leave time for the next ones.
      kube::Duration left = deadline - clock_.Now();
      kube::TimePoint own_deadline = clock_.Now() + left / (query.repositories.size() - i);
      image = co_await ReadFrom(*generation, query, repository, known_tag, own_deadline);
      if (!image && IsRefusal(image.error())) NoteRefusal(*generation, repository);
      // Every error names the registry.
      std::string about = "registry " + repository.source.registry;
      if (!image && !image.error().message().starts_with(about))
        image = image.error().Prefix(about);
      if (image || image.error().code() == kube::Code::kCancelled) break;
    }
    co_return image;
  }

  // A tag that was seen before costs a HEAD; if it has not moved, nothing more is read. The
  // references outlive the call.
  Async<Found> ReadFrom(Generation& generation, const Query& query, const Repository& repository,
                        bool known_tag, kube::TimePoint deadline) {
    std::string version = query.reference.Version();
    if (known_tag) {
      auto digest = co_await generation.client.ManifestDigest(repository, version, deadline);
      // kInvalid: some registries refuse HEAD.
      if (!digest && digest.error().code() != kube::Code::kInvalid) co_return digest.error();
      if (digest && *digest) {
        SharedPlatforms* image = generation.images.Find(query.ImageKey(**digest));
        if (image != nullptr) co_return Found{*image, **digest};
      }
    }
    Result<InspectedImage> image =
        co_await ReadImage(generation.client, repository, std::move(version), query.use, deadline);
    if (!image) co_return image.error();
    if (query.visit) {
      std::string digest = image->digest;
      Result<> visited = co_await query.visit(generation.client, repository, std::move(digest));
      if (!visited) co_return visited.error();
    }
    auto platforms = std::make_shared<const ImagePlatforms>(std::move(image->platforms));
    generation.images.Put(query.ImageKey(image->digest), platforms);
    co_return Found{std::move(platforms), std::move(image->digest)};
  }

  kube::Executor executor_;
  kube::Clock& clock_;
  InspectorOptions options_;
  // Shared by all generations: earlier ones may have calls in flight.
  std::shared_ptr<kube::Slots> large_bodies_;
  InspectorConfig config_;
  std::string configuration_ = Fingerprint({});
  std::function<void(Learned)> learned_;
  std::function<void()> configured_;
  std::unique_ptr<CloudCredentials> cloud_;
  std::shared_ptr<Generation> generation_;
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
