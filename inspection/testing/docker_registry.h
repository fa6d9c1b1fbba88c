// SPDX-License-Identifier: Apache-2.0
// DockerRegistry: a registry that others wrote, Debian's docker-registry, as a process on
// 127.0.0.1; and Publisher, which fills one.
//
//   DockerRegistry open({.folder = tmp + "/open", .storage = tmp + "/storage"});
//   DockerRegistry closed({.folder = tmp + "/closed", .storage = tmp + "/storage", .password =
//   true}); Publisher publisher(io, open.host()); publisher.PushImage("team/app", "1", "arm64",
//   kOciManifest);      // both have it: they share the storage
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/manifest.h"
#include "kube/crypto/certificates.h"
#include "kube/http/pool.h"
#include "kube/testing/subprocess.h"

namespace inspection {

inline constexpr char kDockerRegistryProgram[] = "/usr/bin/docker-registry";

struct DockerRegistryOptions {
  // For its configuration; must be its own.
  std::string folder;
  // What is in it; several may share it.
  std::string storage;
  // With a certificate it speaks TLS, and with an authority it asks for a client certificate of
  // that.
  std::optional<kube::KeyPair> certificate;
  std::string client_ca_pem;
  // Asks for user "u" with password "secret".
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

// Pushes to a registry that speaks plain HTTP. Each failure fails the test.
class Publisher {
 public:
  // `authorization`: sent with every request; may be empty.
  Publisher(kube::asio::io_context& io, const std::string& port, std::string authorization);

  // Each returns the digest. A tag of "" makes a manifest known by digest only.
  std::string PushBlob(const std::string& repository, const std::string& content);
  std::string PushManifest(const std::string& repository, const std::string& tag,
                           const std::string& content, std::string_view type);
  std::string PushImage(const std::string& repository, const std::string& tag,
                        const Platform& platform, std::string_view type,
                        const std::string& labels = "{}");
  // `entries`: descriptors as JSON objects, see EntryOf().
  std::string PushIndex(const std::string& repository, const std::string& tag,
                        const std::vector<std::string>& entries, std::string_view type);
  // Pushes the image, and describes it for an index. `more`: further fields, beginning with a
  // comma.
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
