// SPDX-License-Identifier: Apache-2.0
#include "inspection/testing/fake_registry.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <set>

#include "inspection/base/digest.h"
#include "inspection/base/reference.h"
#include "inspection/registry/auth.h"

namespace inspection {

namespace asio = kube::asio;

struct FakeRegistry::State {
  struct Stored {
    std::string content;
    std::string media_type;
  };
  struct Answer {
    int status = 200;
    std::string body;
    std::string fields;
  };
  struct FaultRule {
    std::string part;
    Fault fault;
    int times;
  };

  std::string url;
  std::string token_server;
  std::chrono::milliseconds latency{0};
  std::map<std::string, Stored> manifests;  // "app/manifests/1"
  std::map<std::string, std::string> blobs;
  bool basic = false;
  bool bearer = false;
  std::set<std::string> logins;  // "Basic …"; "" for anonymous
  std::set<std::string> refresh_tokens;
  std::set<std::string> published;
  std::string refused_scheme;
  int token_generation = 1;
  size_t most_tags = 1000;
  bool ignores_ranges = false;
  uint64_t blob_bytes = 0;
  std::vector<FaultRule> faults;
  std::vector<std::pair<std::string, std::string>> redirects;
  std::vector<std::string> log;
  std::vector<std::string> authorizations;

  Answer Find(const kube::ScriptedRequest& request, const std::string& path);
  Answer GiveToken(const kube::ScriptedRequest& request, const std::string& authorization);
  std::optional<Answer> Challenge(const std::string& authorization, const std::string& path);
  std::string TokenFor(const std::string& repository) const {
    return "token-" + std::to_string(token_generation) + "-" +
           std::to_string(std::hash<std::string>()(repository));
  }
  Answer ListTags(const std::string& target, const std::string& repository) const;
  std::optional<Fault> FaultFor(const std::string& target);
};

namespace {

// "app" of "/v2/app/manifests/1".
std::string RepositoryOf(const std::string& path) {
  size_t end = std::min({path.find("/manifests/"), path.find("/blobs/"), path.find("/tags/list")});
  return end == std::string::npos || end < 4 ? "" : path.substr(4, end - 4);
}

// Makes a whole blob the part that "bytes=FIRST-LAST" names.
void TakeRange(const std::string& range, std::string& body, int& status, std::string& fields) {
  constexpr std::string_view kUnit = "bytes=";
  const size_t dash = range.find('-');
  if (!range.starts_with(kUnit) || dash == std::string::npos) return;
  const size_t first = std::stoull(range.substr(kUnit.size(), dash - kUnit.size()));
  const size_t last = std::stoull(range.substr(dash + 1));
  const std::string total = std::to_string(body.size());
  if (first >= body.size()) {
    status = 416;
    fields += "Content-Range: bytes */" + total + "\r\n";
    body.clear();
    return;
  }
  body = body.substr(first, last - first + 1);
  status = 206;
  fields += "Content-Range: bytes " + std::to_string(first) + "-" +
            std::to_string(first + body.size() - 1) + "/" + total + "\r\n";
}

std::string ErrorBody(const std::string& code) {
  return R"({"errors":[{"code":")" + code + R"("}]})";
}

}  // namespace

FakeRegistry::State::Answer FakeRegistry::State::GiveToken(const kube::ScriptedRequest& request,
                                                           const std::string& authorization) {
  std::string query = request.method == "POST" ? request.body : request.target;
  bool allowed = logins.contains(authorization) || (authorization.empty() && logins.contains(""));
  for (const std::string& token : refresh_tokens)
    allowed |= query.find("refresh_token=" + token) != std::string::npos;
  if (!allowed) return {401, "", ""};
  size_t scope = query.find("scope=repository%3A");
  if (scope == std::string::npos) return {400, "", ""};
  scope += std::string_view("scope=repository%3A").size();
  std::string repository = query.substr(scope, query.find("%3Apull", scope) - scope);
  for (size_t slash = repository.find("%2F"); slash != std::string::npos;
       slash = repository.find("%2F")) {
    repository.replace(slash, 3, "/");
  }
  return {200, R"({"token":")" + TokenFor(repository) + R"(","expires_in":300})", ""};
}

std::optional<FakeRegistry::State::Answer> FakeRegistry::State::Challenge(
    const std::string& authorization, const std::string& path) {
  if (published.contains(RepositoryOf(path))) return std::nullopt;
  if (basic) {
    if (logins.contains(authorization)) return std::nullopt;
    return Answer{401, ErrorBody("UNAUTHORIZED"), "WWW-Authenticate: Basic realm=\"fake\"\r\n"};
  }
  if (bearer) {
    std::string repository = RepositoryOf(path);
    if (authorization == "Bearer " + TokenFor(repository)) return std::nullopt;
    return Answer{401, ErrorBody("UNAUTHORIZED"),
                  "WWW-Authenticate: Bearer realm=\"" + token_server +
                      "\",service=\"fake\",scope=\"repository:" + repository + ":pull\"\r\n"};
  }
  return std::nullopt;
}

FakeRegistry::State::Answer FakeRegistry::State::Find(const kube::ScriptedRequest& request,
                                                      const std::string& path) {
  std::string authorization = request.Header("Authorization");
  if (path == "/token") return GiveToken(request, authorization);
  if (!refused_scheme.empty() && authorization.starts_with(refused_scheme + " "))
    return {400, "", ""};
  if (path == "/v2/") return {200, "{}", ""};
  for (const auto& [part, location] : redirects) {
    if (path.find(part) != std::string::npos) return {307, "", "Location: " + location + "\r\n"};
  }
  std::optional<Answer> challenge = Challenge(authorization, path);
  if (challenge) return *challenge;
  if (size_t blob = path.find("/blobs/"); blob != std::string::npos) {
    auto found = blobs.find(path.substr(blob + 7));
    if (found == blobs.end()) return {404, ErrorBody("BLOB_UNKNOWN"), ""};
    return {200, found->second, ""};
  }
  if (path.ends_with("/tags/list")) return ListTags(request.target, RepositoryOf(path));
  auto found = path.starts_with("/v2/") ? manifests.find(path.substr(4)) : manifests.end();
  if (found == manifests.end()) return {404, ErrorBody("MANIFEST_UNKNOWN"), ""};
  return {200, found->second.content, "Content-Type: " + found->second.media_type + "\r\n"};
}

// Pages of "n" tags after "last".
FakeRegistry::State::Answer FakeRegistry::State::ListTags(const std::string& target,
                                                          const std::string& repository) const {
  auto value = [&](const std::string& key) {
    size_t at = target.find(key + "=");
    if (at == std::string::npos) return std::string();
    at += key.size() + 1;
    return target.substr(at, target.find('&', at) - at);
  };
  const std::string prefix = repository + "/manifests/", last = value("last");
  const size_t page = std::min<size_t>(std::stoul("0" + value("n")), most_tags);
  std::string tags;
  size_t count = 0;
  bool is_more = false;
  for (const auto& [key, stored] : manifests) {
    if (!key.starts_with(prefix)) continue;
    const std::string tag = key.substr(prefix.size());
    if (IsDigest(tag) || tag <= last) continue;
    is_more = count == page;
    if (is_more) break;
    tags += (count++ == 0 ? "\"" : ",\"") + tag + "\"";
  }
  return {200, R"({"name":")" + repository + R"(","tags":[)" + tags + "]}",
          is_more ? "Link: <next>; rel=\"next\"\r\n" : ""};
}

std::optional<FakeRegistry::Fault> FakeRegistry::State::FaultFor(const std::string& target) {
  for (FaultRule& one : faults) {
    if (one.times == 0 || target.find(one.part) == std::string::npos) continue;
    --one.times;
    return one.fault;
  }
  return std::nullopt;
}

asio::awaitable<void> FakeRegistry::Serve(std::shared_ptr<State> state, kube::ScriptedPeer& peer) {
  while (true) {
    std::optional<kube::ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    if (state->latency.count() > 0) {
      asio::steady_timer timer(co_await asio::this_coro::executor, state->latency);
      auto waited = co_await timer.async_wait(kube::kTuple);
      (void)waited;
    }
    std::string path = request->target.substr(0, request->target.find('?'));
    state->log.push_back(request->method + " " + path);
    state->authorizations.push_back(request->Header("Authorization"));
    State::Answer answer = state->Find(*request, path);
    std::optional<Fault> fault = state->FaultFor(path);
    const std::string range = request->Header("Range");
    const bool blob = path.find("/blobs/") != std::string::npos && answer.status == 200;
    if (blob && fault == Fault::kOtherRange) {
      answer.status = 206;
      answer.fields += "Content-Range: bytes 1-2/3\r\n";
    } else if (blob && !range.empty() && !state->ignores_ranges) {
      TakeRange(range, answer.body, answer.status, answer.fields);
    }
    if (blob) state->blob_bytes += answer.body.size();
    bool manifest = path.find("/manifests/") != std::string::npos && answer.status == 200;
    if (manifest) {
      std::string digest =
          fault == Fault::kLyingDigest ? Sha256Digest("something else") : Sha256Digest(answer.body);
      answer.fields += "Docker-Content-Digest: " + digest + "\r\n";
    }
    if (fault == Fault::kReset) {
      peer.Abort();
      co_return;
    }
    if (fault == Fault::kSilent) {
      co_await peer.UntilClosed();
      co_return;
    }
    if (fault == Fault::kEndlessBody) {
      std::string piece(64u << 10, ' ');
      std::string header = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
      bool open = co_await peer.Write(std::move(header));
      while (open) open = co_await peer.Write(piece);
      co_return;
    }
    if (fault == Fault::kStalledBody) {
      std::string half =
          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n";
      half.append(512u << 10, ' ');
      co_await peer.Write(std::move(half));
      co_await peer.UntilClosed();
      co_return;
    }
    if (fault == Fault::kThrottled) answer = {429, "", "Retry-After: 1\r\n"};
    if (fault == Fault::kBroken) answer = {503, "", ""};
    if (fault == Fault::kOtherBody) answer.body += " ";
    size_t length = answer.body.size() + (fault == Fault::kShortBody ? 10 : 0);
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) +
                       " Status\r\nContent-Length: " + std::to_string(length) + "\r\n" +
                       answer.fields + "\r\n" + (request->method == "HEAD" ? "" : answer.body);
    bool sent = co_await peer.Write(text);
    if (!sent || fault == Fault::kShortBody) co_return;
  }
}

FakeRegistry::FakeRegistry(kube::Executor executor, FakeRegistryOptions options)
    : state_(std::make_shared<State>()) {
  kube::ScriptedServerOptions server_options;
  server_options.certificate = std::move(options.certificate);
  server_options.client_ca_pem = std::move(options.client_ca_pem);
  server_ = std::make_unique<kube::ScriptedServer>(
      executor, server_options,
      [state = state_](kube::ScriptedPeer& peer) { return Serve(state, peer); });
  state_->url = url();
  state_->token_server = url() + "/token";
  state_->latency = options.latency;
}

FakeRegistry::~FakeRegistry() = default;

std::string FakeRegistry::host() const { return server_->url().Authority(); }
std::string FakeRegistry::url() const { return server_->url().scheme + "://" + host(); }

std::string FakeRegistry::PutBlob(std::string content) {
  std::string digest = Sha256Digest(content);
  state_->blobs[digest] = std::move(content);
  return digest;
}

std::string FakeRegistry::PutManifest(const std::string& repository, const std::string& tag,
                                      std::string content, std::string_view media_type) {
  std::string digest = Sha256Digest(content);
  State::Stored stored{std::move(content), std::string(media_type)};
  if (!tag.empty()) state_->manifests[repository + "/manifests/" + tag] = stored;
  state_->manifests[repository + "/manifests/" + digest] = std::move(stored);
  return digest;
}

std::string FakeRegistry::PutImage(const std::string& repository, const std::string& tag,
                                   const Platform& platform, const std::string& labels) {
  std::string config = PutBlob(R"({"architecture":")" + platform.architecture + R"(","os":")" +
                               platform.os + R"(","config":{"Labels":)" + labels + "}}");
  return PutManifest(
      repository, tag,
      R"({"schemaVersion":2,"mediaType":")" + std::string(kOciManifest) +
          R"(","config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":1,"digest":")" +
          config + R"("},"layers":[]})",
      kOciManifest);
}

std::string FakeRegistry::PutIndex(const std::string& repository, const std::string& tag,
                                   const std::vector<Platform>& platforms) {
  std::string entries;
  for (const Platform& platform : platforms) {
    std::string image = PutImage(repository, "", platform);
    entries += (entries.empty() ? "" : ",") + (R"({"mediaType":")" + std::string(kOciManifest)) +
               R"(","size":1,"digest":")" + image + R"(","platform":{"os":")" + platform.os +
               R"(","architecture":")" + platform.architecture + R"("}})";
  }
  return PutManifest(repository, tag,
                     R"({"schemaVersion":2,"mediaType":")" + std::string(kOciIndex) +
                         R"(","manifests":[)" + entries + "]}",
                     kOciIndex);
}

void FakeRegistry::Remove(const std::string& repository, const std::string& tag) {
  state_->manifests.erase(repository + "/manifests/" + tag);
}

void FakeRegistry::RequireBasic(const std::string& user, const std::string& password) {
  state_->basic = true;
  state_->logins.insert(BasicAuthorization(user, password));
}

void FakeRegistry::RequireToken(const std::string& user, const std::string& password) {
  state_->bearer = true;
  state_->logins.insert(user.empty() ? "" : BasicAuthorization(user, password));
}

void FakeRegistry::AcceptRefreshToken(const std::string& refresh_token) {
  state_->bearer = true;
  state_->refresh_tokens.insert(refresh_token);
}

void FakeRegistry::UseTokenServer(const std::string& url) { state_->token_server = url; }

void FakeRegistry::Publish(const std::string& repository) { state_->published.insert(repository); }

void FakeRegistry::AllowAnonymous() {
  state_->basic = false;
  state_->bearer = false;
}

void FakeRegistry::IgnoreRanges() { state_->ignores_ranges = true; }

uint64_t FakeRegistry::blob_bytes() const { return state_->blob_bytes; }

void FakeRegistry::LimitTags(size_t most) { state_->most_tags = most; }

void FakeRegistry::RevokeTokens() { ++state_->token_generation; }

void FakeRegistry::InjectFault(const std::string& part, Fault fault, int times) {
  state_->faults.push_back({part, fault, times});
}

void FakeRegistry::Redirect(const std::string& part, const std::string& location) {
  state_->redirects.emplace_back(part, location);
}

void FakeRegistry::RejectScheme(const std::string& scheme) { state_->refused_scheme = scheme; }

void FakeRegistry::ClearFaults() {
  state_->refused_scheme.clear();
  state_->faults.clear();
  state_->redirects.clear();
}

const std::vector<std::string>& FakeRegistry::log() const { return state_->log; }

int FakeRegistry::Count(std::string_view part) const {
  return static_cast<int>(
      std::count_if(state_->log.begin(), state_->log.end(),
                    [&](const std::string& line) { return line.find(part) != std::string::npos; }));
}

const std::vector<std::string>& FakeRegistry::authorizations() const {
  return state_->authorizations;
}

void FakeRegistry::ClearLog() {
  state_->log.clear();
  state_->authorizations.clear();
}

}  // namespace inspection
