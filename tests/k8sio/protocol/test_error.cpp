// SPDX-License-Identifier: Apache-2.0
#include "k8sio/client.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;

namespace {

api_error error_of(errc code, int status, std::string method) {
    api_error error;
    error.code = code;
    error.http_status = status;
    error.method = std::move(method);
    return error;
}

}  // namespace

TEST_CASE("[requirement R4] the table of what to do after an error") {
    struct row {
        errc code;
        int status;
        const char* method;
        retry_class expected;
    };
    const row rows[] = {
        {errc::cancelled, 0, "POST", retry_class::cancelled},
        {errc::invalid_argument, 0, "GET", retry_class::give_up},
        {errc::resolve, 0, "POST", retry_class::retry_later},
        {errc::connect, 0, "POST", retry_class::retry_later},
        {errc::tls, 0, "PUT", retry_class::retry_later},
        {errc::credentials, 0, "PUT", retry_class::retry_later},
        {errc::timeout, 0, "GET", retry_class::retry_later},
        {errc::timeout, 0, "POST", retry_class::unknown_outcome},
        {errc::connection_lost, 0, "GET", retry_class::retry_now},
        {errc::connection_lost, 0, "DELETE", retry_class::unknown_outcome},
        {errc::bad_response, 200, "GET", retry_class::retry_later},
        {errc::bad_response, 201, "POST", retry_class::unknown_outcome},
        {errc::too_large, 0, "GET", retry_class::give_up},
        {errc::http_status, 400, "POST", retry_class::give_up},
        {errc::http_status, 401, "POST", retry_class::give_up},
        {errc::http_status, 403, "POST", retry_class::give_up},
        {errc::http_status, 404, "PATCH", retry_class::recompute},
        {errc::http_status, 409, "PUT", retry_class::recompute},
        {errc::http_status, 410, "GET", retry_class::recompute},
        {errc::http_status, 422, "POST", retry_class::give_up},
        {errc::http_status, 429, "POST", retry_class::retry_later},
        {errc::http_status, 500, "GET", retry_class::retry_later},
        {errc::http_status, 500, "POST", retry_class::unknown_outcome},
        {errc::http_status, 501, "POST", retry_class::give_up},
        {errc::http_status, 502, "GET", retry_class::retry_later},
        {errc::http_status, 503, "POST", retry_class::retry_later},
        {errc::http_status, 504, "GET", retry_class::retry_later},
        {errc::http_status, 504, "POST", retry_class::unknown_outcome},
        {errc::http_status, 302, "GET", retry_class::give_up},
    };
    for (const row& r : rows) {
        INFO(to_string(r.code) << " " << r.status << " " << r.method);
        CHECK(classify(error_of(r.code, r.status, r.method)) == r.expected);
    }
}

TEST_CASE("[requirement T13] the server's Status becomes the error, with audit id and Retry-After"
) {
    const http_request request("POST", "/api/v1/namespaces/a/pods?fieldManager=secret");
    http_response answer;
    answer.status = 429;
    answer.headers = {{"audit-id", "77"}, {"retry-after", "3"}};
    answer.body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no \"x\"",
        "reason":"TooManyRequests","code":429,"details":{"name":"x","causes":[{"reason":"R",
        "message":"M","field":"f"},7],"retryAfterSeconds":9}})";
    const api_error error = error_from_response(request, answer);
    CHECK(error.code == errc::http_status);
    CHECK(error.http_status == 429);
    CHECK(error.reason == "TooManyRequests");
    CHECK(error.message == "no \"x\"");
    CHECK(error.audit_id == "77");
    CHECK(error.retry_after == std::chrono::seconds{3});
    CHECK(error.path == "/api/v1/namespaces/a/pods");
    CHECK(error.has_cause("R"));
    CHECK_FALSE(error.has_cause("S"));
    CHECK(
        error.text() ==
        "POST /api/v1/namespaces/a/pods: 429 TooManyRequests: no \"x\" [f: M] (audit id 77)"
    );
}

TEST_CASE("[requirement T14] an answer that is no Status is quoted with its type, up to 2 KiB") {
    const http_request request("GET", "/api");
    http_response answer;
    answer.status = 502;
    answer.headers = {{"Content-Type", "text/html"}};
    answer.body = "<html>" + std::string(5000, 'x');
    const api_error error = error_from_response(request, answer);
    CHECK(error.http_status == 502);
    CHECK(error.message.find("'text/html': <html>xxx") != std::string::npos);
    CHECK(error.message.size() < 2200);
    answer.body = R"({"kind":"Status","reason":"NotFou)";
    CHECK(error_from_response(request, answer).reason.empty());
    answer.body.clear();
    CHECK(error_from_response(request, answer).message.find("empty body") == 0);
}

TEST_CASE("[requirement V4] versions are compared as numbers of any length") {
    CHECK(compare_versions("5", "5") == version_order::same);
    CHECK(compare_versions("9", "10") == version_order::older);
    CHECK(compare_versions("10", "9") == version_order::newer);
    CHECK(compare_versions("18446744073709551616", "18446744073709551615") == version_order::newer);
    CHECK(compare_versions("0", "1") == version_order::older);
    CHECK(compare_versions("010", "9") == version_order::incomparable);
    CHECK(compare_versions("", "9") == version_order::incomparable);
    CHECK(compare_versions("x", "x") == version_order::same);
    CHECK(compare_versions("-1", "1") == version_order::incomparable);
}

TEST_CASE("[requirement T11] paths are percent-encoded segment by segment") {
    CHECK(resources::pods().collection_path("") == "/api/v1/pods");
    CHECK(
        resources::pods().object_path("a", "b/c", "log") == "/api/v1/namespaces/a/pods/b%2Fc/log"
    );
    CHECK(resources::nodes().object_path("ignored", "n") == "/api/v1/nodes/n");
    const resource_type job("batch.example.com", "v1beta1", "jobs", "Job");
    CHECK(job.api_version() == "batch.example.com/v1beta1");
    CHECK(job.collection_path("a b") == "/apis/batch.example.com/v1beta1/namespaces/a%20b/jobs");
    CHECK(percent_encode("a=b,c in (d)%\xC3\xA4~") == "a%3Db%2Cc%20in%20%28d%29%25%C3%A4~");
}

TEST_CASE("[requirement T11] what is percent-encoded can be decoded") {
    std::string every;
    for (int byte = 0; byte < 256; ++byte) {
        every += static_cast<char>(byte);
    }
    CHECK(percent_decode(percent_encode(every)) == every);
    CHECK(percent_encode("a/b!c%", "/!") == "a/b!c%25");
    CHECK(percent_decode("%2f%2F%41+") == "//A+");
    for (const char* kept : {"%", "%4", "%zz", "%-1", "%+1", "% 1", "a%", "%%"}) {
        CHECK(percent_decode(kept) == kept);
    }
}

TEST_CASE("[behaviour 2.5] [requirement X3] what says that the namespace is terminating or gone") {
    api_error error = error_of(errc::http_status, 403, "POST");
    error.message = "forbidden: namespace default is being terminated";
    CHECK_FALSE(is_namespace_ending(error));
    error.causes.push_back({"NamespaceTerminating", "", "metadata.namespace"});
    CHECK(is_namespace_ending(error));
    error = error_of(errc::http_status, 404, "POST");
    error.message = "namespaces \"default\" not found";
    CHECK(is_namespace_ending(error));
    error.message = "the server could not find the requested resource";
    CHECK_FALSE(is_namespace_ending(error));
}
