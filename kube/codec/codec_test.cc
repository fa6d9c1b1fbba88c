// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::HasSubstr;

core::Pod MakeOne(const std::string& name) {
  core::Pod pod;
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_namespace_("ns");
  pod.mutable_metadata()->set_resource_version("7");
  return pod;
}

// The encoding of bytes field `number`.
std::string Field(int number, const std::string& value) {
  std::string bytes;
  bytes += static_cast<char>(number << 3 | 2);
  for (size_t size = value.size();; size >>= 7) {
    bytes += static_cast<char>(size < 128 ? size : (size & 127) | 128);
    if (size < 128) break;
  }
  return bytes + value;
}

// An object in its envelope.
std::string Sealed(const google::protobuf::MessageLite& message) {
  return SealEnvelope(ResourceOf<core::Pod>::value, message);
}

std::string Frame(const std::string& type, const google::protobuf::MessageLite& message) {
  meta::WatchEvent event;
  event.set_type(type);
  event.mutable_object()->set_raw(Sealed(message));
  return event.SerializeAsString();
}

TEST(CodecTest, ProtobufSurvivesTheRoundTrip) {
  std::string body = Encode(MakeOne("web"));
  EXPECT_TRUE(body.starts_with("k8s\0"sv));
  Result<meta::Unknown> envelope = OpenEnvelope(body);
  ASSERT_THAT(envelope, IsOk());
  EXPECT_EQ(envelope->type_meta().api_version(), "v1");
  EXPECT_EQ(envelope->type_meta().kind(), "Pod");
  Result<core::Pod> pod = Decode<core::Pod>(body);
  ASSERT_THAT(pod, IsOk());
  EXPECT_EQ(pod->SerializeAsString(), MakeOne("web").SerializeAsString());
}

// Fields that are newer than the .proto files: the API server would refuse a PUT without them.
TEST(CodecTest, UnknownFieldsSurviveDecodingChangingAndEncoding) {
  std::string unknown = Field(15, "from the future") + Field(14, std::string(300, 'x'));
  std::string raw = MakeOne("web").SerializeAsString() + unknown;
  meta::Unknown envelope;
  envelope.set_raw(raw);
  Result<core::Pod> pod = Decode<core::Pod>("k8s\0"s + envelope.SerializeAsString());
  ASSERT_THAT(pod, IsOk());
  (*pod->mutable_metadata()->mutable_labels())["a"] = "b";
  std::string again = OpenEnvelope(Encode(*pod))->raw();
  EXPECT_THAT(again, HasSubstr(unknown));
}

TEST(CodecTest, ABodyWithoutEnvelopeIsInvalid) {
  for (std::string_view body :
       {""sv, "k8s"sv, "{\"kind\":\"Pod\"}"sv, "k8s\0\xff\xff\xff"sv, "k8s\1abc"sv}) {
    EXPECT_THAT(Decode<core::Pod>(body), FailsWith(Code::kInvalid));
  }
}

TEST(CodecTest, DamagedBodiesNeverCrash) {
  std::string body = Encode(MakeOne("web"));
  for (size_t i = 0; i < body.size(); ++i) {
    for (char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = body;
      damaged[i] = value;
      IgnoreError(Decode<core::Pod>(damaged), "only a crash fails the test");
    }
    IgnoreError(Decode<core::Pod>(body.substr(0, i)), "only a crash fails the test");
  }
}

TEST(CodecTest, ListsKeepTheirItemsEncoded) {
  meta::List list;
  list.mutable_metadata()->set_resource_version("42");
  list.mutable_metadata()->set_continue_token("next");
  *list.add_items() = MakeOne("a").SerializeAsString();
  *list.add_items() = MakeOne("b").SerializeAsString();
  Result<RawList> raw = DecodeProtobufList(Sealed(list));
  ASSERT_THAT(raw, IsOk());
  EXPECT_EQ(raw->resource_version, "42");
  EXPECT_EQ(raw->continue_token, "next");
  ASSERT_EQ(raw->items.size(), 2u);
  EXPECT_EQ(DecodeBare<core::Pod>(raw->items[1])->metadata().name(), "b");
}

TEST(CodecTest, JsonListsAreReadAndValidated) {
  Result<RawList> raw = DecodeJsonList(
      R"({"metadata":{"resourceVersion":"42","continue":"next"},"items":[{"metadata":{"name":"a"}},{}]})");
  ASSERT_THAT(raw, IsOk());
  EXPECT_EQ(raw->resource_version, "42");
  EXPECT_EQ(raw->continue_token, "next");
  ASSERT_EQ(raw->items.size(), 2u);
  EXPECT_EQ(DecodeBare<Unstructured>(raw->items[0])->metadata().name(), "a");
  EXPECT_THAT(DecodeJsonList(R"({"items":null})"), IsOk());
  EXPECT_THAT(DecodeJsonList(R"({"items":5})"), FailsWith(Code::kInvalid));
  for (const char* items : {"[5]", "[[]]", "[\"a\"]", "[{}", "[{},", "{}", "\"a\""}) {
    EXPECT_THAT(DecodeJsonList(std::string(R"({"items":)") + items + "}"),
                FailsWith(Code::kInvalid))
        << items;
  }
  EXPECT_THAT(DecodeJsonList("not json"), FailsWith(Code::kInvalid));
  std::string deep = R"({"items":[)" + std::string(300, '[') + std::string(300, ']') + "]}";
  EXPECT_THAT(DecodeJsonList(deep), FailsWith(Code::kInvalid));
}

TEST(CodecTest, OnlyTheListsOwnItemsAreItems) {
  Result<RawList> raw =
      DecodeJsonList(R"({"extra":[{"a":1}],"items":[{"items":[{"b":{"c":2}}]}],"more":[{}]})");
  ASSERT_THAT(raw, IsOk());
  EXPECT_THAT(raw->items, ElementsAre(R"({"items":[{"b":{"c":2}}]})"));
  raw = DecodeJsonList(R"( {"kind":"items", "items" : [ {"a":"]}\"["} , {"b":[{}]} ] , "x":[1]} )");
  ASSERT_THAT(raw, IsOk());
  EXPECT_THAT(raw->items, ElementsAre(R"({"a":"]}\"["})", R"({"b":[{}]})"));
}

TEST(CodecTest, FramesCarryTypeAndObject) {
  for (std::string type : {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}) {
    Result<WatchEvent<core::Pod>> event = DecodeFrame<core::Pod>(Frame(type, MakeOne("web")));
    ASSERT_THAT(event, IsOk());
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(event->object.metadata().resource_version(), "7");
  }
  Result<WatchEvent<Unstructured>> json = DecodeFrame<Unstructured>(
      R"({"type":"ADDED","object":{"metadata":{"name":"web","resourceVersion":"7"}}})");
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(json->type, "ADDED");
  EXPECT_EQ(json->object.metadata().name(), "web");
}

TEST(CodecTest, AnErrorFrameIsItsStatus) {
  meta::Status status;
  status.set_code(410);
  status.set_reason("Expired");
  status.set_message("too old resource version");
  EXPECT_THAT(DecodeFrame<core::Pod>(Frame("ERROR", status)),
              FailsWith(Code::kExpired, "too old resource version"));
  EXPECT_THAT(DecodeFrame<Unstructured>(
                  R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"),
              FailsWith(Code::kExpired, "too old"));
}

TEST(CodecTest, MalformedFramesAreInvalid) {
  EXPECT_THAT(DecodeFrame<core::Pod>("\xff\xff"), FailsWith(Code::kInvalid));
  EXPECT_THAT(DecodeFrame<core::Pod>(""), FailsWith(Code::kInvalid));
  EXPECT_THAT(DecodeFrame<Unstructured>("[]"), FailsWith(Code::kInvalid));
  EXPECT_THAT(DecodeFrame<Unstructured>(R"({"type":"ADDED"})"), FailsWith(Code::kInvalid));
}

TEST(CodecTest, AStatusIsReadInEitherEncoding) {
  meta::Status status;
  status.set_code(429);
  status.set_reason("TooManyRequests");
  status.set_message("slow down");
  status.mutable_details()->set_retry_after_seconds(3);
  meta::StatusCause& cause = *status.mutable_details()->add_causes();
  cause.set_reason("FieldValueForbidden");
  cause.set_message("Forbidden: not now");
  cause.set_field("sendInitialEvents");
  Error protobuf = DecodeStatus(429, kProtobuf, Sealed(status));
  Error json =
      DecodeStatus(429, kJson,
                   R"({"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow down",
          "details":{"retryAfterSeconds":3,"causes":[{"reason":"FieldValueForbidden",
          "message":"Forbidden: not now","field":"sendInitialEvents"}]}})");
  for (const Error& error : {protobuf, json}) {
    EXPECT_EQ(error.code(), Code::kThrottled);
    EXPECT_EQ(error.reason(), "TooManyRequests");
    EXPECT_EQ(error.message(), "slow down");
    EXPECT_EQ(error.retry_after(), 3s);
    ASSERT_EQ(error.causes().size(), 1u);
    EXPECT_EQ(error.causes()[0].reason, "FieldValueForbidden");
    EXPECT_EQ(error.causes()[0].message, "Forbidden: not now");
    EXPECT_EQ(error.causes()[0].field, "sendInitialEvents");
  }
}

TEST(CodecTest, AnErrorFrameHasItsCauses) {
  meta::Status status;
  status.set_code(504);
  status.mutable_details()->add_causes()->set_reason("ResourceVersionTooLarge");
  Result<WatchEvent<core::Pod>> protobuf = DecodeFrame<core::Pod>(Frame("ERROR", status));
  Result<WatchEvent<Unstructured>> json = DecodeFrame<Unstructured>(
      R"({"type":"ERROR","object":{"code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}})");
  EXPECT_TRUE(protobuf.error().HasCause("ResourceVersionTooLarge"));
  EXPECT_TRUE(json.error().HasCause("ResourceVersionTooLarge"));
}

TEST(CodecTest, CausesOfAStatusAreBounded) {
  Json json{{"code", 422}, {"details", {{"causes", Json::array()}}}};
  meta::Status status;
  for (int i = 0; i < 1000; ++i) {
    json["details"]["causes"].push_back({{"message", std::string(1000, 'x')}});
    status.mutable_details()->add_causes()->set_message(std::string(1000, 'x'));
  }
  for (const Error& error :
       {DecodeStatus(422, kJson, DumpJson(json)), DecodeStatus(422, kProtobuf, Sealed(status))}) {
    EXPECT_EQ(error.causes().size(), Error::kMaxCauses);
    EXPECT_EQ(error.causes()[0].message.size(), Error::kMaxCauseBytes);
  }
  for (std::string_view causes : {"5", "{}", "[5,null,[]]", R"([{"reason":5,"field":{}}])"}) {
    std::string body = R"({"code":422,"details":{"causes":)" + std::string(causes) + "}}";
    EXPECT_EQ(DecodeStatus(422, kJson, body).code(), Code::kInvalid) << causes;
  }
}

TEST(CodecTest, WithoutAStatusTheHttpStatusCounts) {
  EXPECT_EQ(DecodeStatus(502, "text/html", "<html>bad gateway").code(), Code::kUnavailable);
  EXPECT_THAT(DecodeStatus(502, "text/html", "<html>bad gateway").message(),
              HasSubstr("bad gateway"));
  EXPECT_EQ(DecodeStatus(404, kProtobuf, "not protobuf").code(), Code::kNotFound);
  EXPECT_EQ(DecodeStatus(403, kJson, "[1,2]").code(), Code::kPermissionDenied);
  EXPECT_EQ(DecodeStatus(409, kJson, "{\"code\":\"text\",\"details\":5}").code(), Code::kConflict);
  EXPECT_LT(DecodeStatus(500, "text/plain", std::string(100'000, 'x')).message().size(), 300u);
}

TEST(CodecTest, ContentTypesFollowTheKind) {
  EXPECT_EQ(kContentType<core::Pod>, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(kWatchAccept<core::Pod>, "application/vnd.kubernetes.protobuf;stream=watch");
  EXPECT_EQ(kContentType<Unstructured>, "application/json");
}

}  // namespace
}  // namespace kube
