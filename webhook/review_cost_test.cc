// SPDX-License-Identifier: Apache-2.0
// What the review of a pod costs this process: system calls, wake-ups and allocations, over TLS on
// a connection that is kept. The client runs on a thread of its own, whose costs do not count.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <iostream>
#include <semaphore>
#include <string>
#include <thread>

#include "api/names.h"
#include "kube/metrics/metrics.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/testing/cost.h"
#include "webhook/gate_webhook.h"
#include "webhook/golden.h"

namespace webhook {
namespace {

using kube::Cost;
using kube::CostPer;
using namespace std::chrono_literals;
namespace asio = kube::asio;

constexpr int kWarmUp = 20;
constexpr int kReviews = 200;

class ReviewCostTest : public kube::ServerFixture {
 protected:
  void AddHandlers() override { webhook_.AddTo(*server_); }

  // Sends as many reviews as wanted_ says, one after the other, until that is 0. The pause lets the
  // server wait for each of them, as between two pods.
  void SendReviews(uint16_t port) {
    std::string body =
        ReadTestFile(std::filesystem::path(kTestdata) / "cluster_pod_of_a_deployment.input.json");
    std::string request = "POST " + std::string(api::kClusterGatePath) +
                          "?timeout=10s HTTP/1.1\r\nHost: webhook.ns.svc:443\r\n"
                          "User-Agent: kube-apiserver-admission\r\nContent-Length: " +
                          std::to_string(body.size()) +
                          "\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"
                          "Accept-Encoding: gzip\r\n\r\n" +
                          body;
    asio::io_context io;
    asio::ssl::context tls(asio::ssl::context::tls_client);
    asio::ssl::stream<asio::ip::tcp::socket> stream(io, tls);
    stream.next_layer().connect({asio::ip::address_v4::loopback(), port});
    stream.next_layer().set_option(asio::ip::tcp::no_delay(true));
    stream.handshake(asio::ssl::stream_base::client);
    std::string reply(64 * 1024, '\0');
    while (int wanted = WaitForWanted()) {
      for (int i = 0; i < wanted; ++i) {
        std::this_thread::sleep_for(1ms);
        asio::write(stream, asio::buffer(request));
        size_t size = stream.read_some(asio::buffer(reply));
        if (!reply.starts_with("HTTP/1.1 200 OK\r\n") ||
            reply.substr(0, size).find("\"patch\"") == std::string::npos) {
          refused_ = true;
        }
      }
      asio::post(context_, [this] { served_ = true; });
    }
  }
  int WaitForWanted() {
    asked_.acquire();
    return wanted_;
  }
  void Want(int reviews) {
    wanted_ = reviews;
    asked_.release();
  }

  // Serves `count` reviews, from the first byte of the first one to the last byte of the last one.
  Cost Serve(int count) {
    Cost before = kube::CostOfThread();
    served_ = false;
    Want(count);
    while (!served_) context_.run_one();
    return kube::CostOfThread() - before;
  }

  kube::Metrics metrics_;
  GateWebhook webhook_{{"", "operator"}, metrics_, kube::RealClock()};
  bool served_ = false;  // the client has read all replies
  int wanted_ = 0;       // handed over by asked_
  std::binary_semaphore asked_{0};
  std::atomic<bool> refused_ = false;
};

TEST_F(ReviewCostTest, AReviewOnAKeptConnection) {
  options_.refresh_interval = 1h;
  Start();
  std::thread client([this] { SendReviews(server_->port()); });
  Serve(kWarmUp);
  Cost cost = Serve(kReviews);
  Want(0);
  client.join();
  EXPECT_FALSE(refused_);
  CostPer review{cost, kReviews};
  EXPECT_TRUE(review.IsWithin({.receives = 1,
                               .empty_receives = 0,
                               .sends = 1,
                               .waits = 1,
                               .registrations = 1,
                               .timers = 0,
                               .allocations = 22}));
  std::cout << "a review: " << review << "\n";
}

}  // namespace
}  // namespace webhook
