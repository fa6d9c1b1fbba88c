// SPDX-License-Identifier: Apache-2.0
// DockerRegistry: Debian's docker-registry (distribution 2) or distribution 3 as a process on
// 127.0.0.1; and Publisher, which pushes images to it.
//
//   DockerRegistry open({.folder = tmp + "/open", .storage = tmp + "/storage"});
//   DockerRegistry closed(
//       {.folder = tmp + "/closed", .storage = tmp + "/storage", .password = true});
//   Publisher publisher(io, open.port(), "");
//   publisher.PushImage("team/app", "1", {"linux", "arm64"}, kOciManifest);
//   // Both registries have the image: they share the storage.
//   DockerRegistry proxy({.program = RegistryProgram::kDistribution,
//                         .folder = tmp + "/proxy",
//                         .storage = tmp + "/proxied",
//                         .remote_url = "http://" + open.host()});
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/base/manifest.h"
#include "kube/crypto/certificates.h"
#include "kube/http/pool.h"
#include "kube/testing/subprocess.h"

namespace inspection {

enum class RegistryProgram {
  kDebian,        // the package docker-registry
  kDistribution,  // distribution 3, which e2e/cluster/build-tools.sh builds
};
inline constexpr RegistryProgram kRegistryPrograms[] = {RegistryProgram::kDebian,
                                                        RegistryProgram::kDistribution};

// As a part of the name of a test.
std::string NameOf(RegistryProgram program);
bool IsInstalled(RegistryProgram program);
// For the message of a test that is skipped because the program is not installed.
std::string HowToInstall(RegistryProgram program);

struct DockerRegistryOptions {
  RegistryProgram program = RegistryProgram::kDebian;
  // The folder for its configuration; not shared.
  std::string folder;
  // The folder for its images; several registries may share it.
  std::string storage;
  // Another registry, from which it pulls what it does not have ("http://127.0.0.1:5000"). It must
  // run at the start; nothing can be pushed then.
  std::string remote_url;
  // To start it again where it was.
  std::string port = "0";
  // With a certificate it serves TLS, and with an authority it requires a client certificate of
  // that authority.
  std::optional<kube::KeyPair> certificate;
  std::string client_ca_pem;
  // Requires user "u" with password "secret".
  bool password = false;
  // Sends clients to a token server at this URL, whose tokens are signed by this certificate's key.
  std::string token_realm;
  std::string token_certificate_pem;
};

class DockerRegistry {
 public:
  // Fails the test if it does not start.
  explicit DockerRegistry(DockerRegistryOptions options);

  const std::string& port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + port_; }

 private:
  std::unique_ptr<kube::Subprocess> process_;
  std::string port_;
};

// Pushes to a registry with plain HTTP. Each failure fails the test.
class Publisher {
 public:
  // `authorization`: sent with every request; may be empty.
  Publisher(kube::asio::io_context& io, const std::string& port, std::string authorization);

  // Each returns the digest. A manifest with tag "" has only a digest.
  std::string PushBlob(const std::string& repository, const std::string& content);
  std::string PushManifest(const std::string& repository, const std::string& tag,
                           const std::string& content, std::string_view type);
  std::string PushImage(const std::string& repository, const std::string& tag,
                        const Platform& platform, std::string_view type,
                        const std::string& labels = "{}");
  // `entries`: descriptors as JSON objects, from PushEntry().
  std::string PushIndex(const std::string& repository, const std::string& tag,
                        const std::vector<std::string>& entries, std::string_view type);
  // Pushes the image, and returns its entry for an index. `more`: further fields after a comma.
  std::string PushEntry(const std::string& repository, const Platform& platform,
                        std::string_view type, const std::string& more = "");

 private:
  kube::HttpResponse Send(std::string method, std::string target, std::string body,
                          std::string_view type);

  kube::asio::io_context& io_;
  std::string authorization_;
  std::unique_ptr<kube::HttpPool> pool_;
};

}  // namespace inspection
