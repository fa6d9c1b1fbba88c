// SPDX-License-Identifier: Apache-2.0
// WebhookProcessTest: tests of the program as a process, with a certificate of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/testing/subprocess.h"

namespace webhook {

inline constexpr char kProgram[] = "webhook/webhook";

class WebhookProcessTest : public ::testing::Test {
 protected:
  WebhookProcessTest() {
    certificates_ = std::filesystem::path(::testing::TempDir()) /
                    ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(certificates_);
    ca_ = *kube::NewCertificateAuthority("test", std::chrono::hours(1), kube::RealClock());
    kube::KeyPair pair =
        *kube::NewServingCertificate(ca_, {"127.0.0.1"}, std::chrono::hours(1), kube::RealClock());
    std::ofstream(certificates_ / "tls.crt") << pair.certificate_pem;
    std::ofstream(certificates_ / "tls.key") << pair.private_key_pem;
  }

  std::vector<std::string> Flags(std::vector<std::string> more) {
    std::vector<std::string> flags = {"--cert-dir=" + certificates_.string(),
                                      "--address=127.0.0.1:0", "--health-address=127.0.0.1:0",
                                      "--drain-delay=0s"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }

  // The port number that follows `words` in the log of the process.
  static uint16_t PortAfter(kube::Subprocess& process, const std::string& words) {
    if (!process.WaitForOutput("; health on port ") || !process.WaitForOutput("\n")) return 0;
    size_t at = process.output().find(words);
    return at == std::string::npos
               ? 0
               : static_cast<uint16_t>(std::stoi(process.output().substr(at + words.size())));
  }

  void ExpectFailure(std::vector<std::string> flags, int code, const std::string& message) {
    kube::Subprocess process(kProgram, Flags(std::move(flags)));
    EXPECT_EQ(process.Wait(), code);
    EXPECT_THAT(process.output(), ::testing::HasSubstr(message));
  }

  boost::asio::io_context context_{1};
  std::filesystem::path certificates_;
  kube::KeyPair ca_;
};

}  // namespace webhook
