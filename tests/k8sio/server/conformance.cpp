// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <rapidjson/pointer.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <memory>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::test {
namespace {

namespace asio = boost::asio;
using rapidjson::Document;
using rapidjson::Value;
using variables = std::map<std::string, std::string>;

std::string to_text(const Value& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

std::string plain(const Value& v) {
    return v.IsString() ? std::string(v.GetString(), v.GetStringLength()) : to_text(v);
}

std::string filled(std::string text, const variables& values) {
    for (const auto& [name, value] : values) {
        const std::string mark = "${" + name + "}";
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
            text.replace(at, mark.size(), value);
        }
    }
    return text;
}

std::string string_of(const Value& step, const char* key) {
    return step.HasMember(key) ? plain(step[key]) : std::string();
}

const char* media_type(const std::string& as) {
    return as == "merge"       ? "application/merge-patch+json"
           : as == "json"      ? "application/json-patch+json"
           : as == "strategic" ? "application/strategic-merge-patch+json"
           : as == "apply"     ? "application/apply-patch+yaml"
           : as == "text"      ? "text/plain"
                               : "application/json";
}

/// Compares what is at each JSON pointer: `~regex`, `absent`, or the value itself.
std::string compare(const Value& got, const Value& wanted, const variables& values) {
    for (const auto& m : wanted.GetObject()) {
        const Value* at = rapidjson::Pointer(m.name.GetString()).Get(got);
        const std::string want = filled(plain(m.value), values);
        const std::string have = at == nullptr ? "absent" : plain(*at);
        bool ok = false;
        if (!want.empty() && want.front() == '~') {
            ok = at != nullptr && std::regex_search(have, std::regex(want.substr(1)));
        } else if (!want.empty() && want.front() == '!') {
            ok = have != want.substr(1);
        } else {
            ok = have == want;
        }
        if (!ok) {
            return fmt::format("{} is {}, wanted {}", m.name.GetString(), have, want);
        }
    }
    return {};
}

std::string check_answer(
    const Value& step, int status, const Value& body, const variables& values
) {
    if (step.HasMember("status") && step["status"].GetInt() != status) {
        return fmt::format(
            "status is {}, wanted {}: {}", status, step["status"].GetInt(), to_text(body)
        );
    }
    if (step.HasMember("expect")) {
        const std::string difference = compare(body, step["expect"], values);
        return difference.empty() ? "" : difference + " in " + to_text(body);
    }
    return {};
}

void keep(const Value& step, const Value& body, variables& values) {
    if (!step.HasMember("keep")) {
        return;
    }
    for (const auto& m : step["keep"].GetObject()) {
        const Value* at = rapidjson::Pointer(m.value.GetString()).Get(body);
        values[m.name.GetString()] = at == nullptr ? "" : plain(*at);
    }
}

struct exchange_result {
    int status = 0;
    std::string body;
    std::string warning;
};

asio::awaitable<exchange_result> exchange(
    conformance_target& target,
    const std::string& method,
    const std::string& path,
    const std::string& type,
    const std::string& accept,
    const std::string& body
) {
    http_request request(method, path);
    request.content_type = type;
    if (!accept.empty()) {
        request.accept = accept;
    }
    request.body = body;
    const steady_time deadline = target.time->steady_now() + patience;
    result<http_response> response = co_await target.transport->exchange(request, deadline);
    exchange_result out;
    if (response) {
        out.status = response->status;
        out.body = response->body;
        out.warning = std::string(response->header("Warning"));
    } else {
        out.body = fmt::format("{{\"error\":\"{}\"}}", response.error().message);
    }
    co_return out;
}

/// The step's method and path, if it is a plain request.
std::optional<std::pair<std::string, std::string>> request_line(const Value& step) {
    for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
        if (step.HasMember(method)) {
            return std::make_pair(std::string(method), plain(step[method]));
        }
    }
    return std::nullopt;
}

asio::awaitable<std::string> run_request(
    conformance_target& target, const Value& step, variables& values
) {
    const auto line = request_line(step);
    const std::string path = filled(line->second, values);
    const std::string body =
        step.HasMember("body") ? filled(to_text(step["body"]), values) : std::string();
    const std::string type = body.empty() ? "" : media_type(string_of(step, "as"));
    const std::string accept = string_of(step, "accept");
    exchange_result r = co_await exchange(target, line->first, path, type, accept, body);
    Document answer;
    answer.Parse(r.body.c_str());
    if (answer.HasParseError()) {
        answer.SetObject();
        answer.AddMember(
            "text", Value(r.body.c_str(), answer.GetAllocator()), answer.GetAllocator()
        );
    }
    if (!r.warning.empty() && answer.IsObject()) {
        answer.AddMember(
            "warning", Value(r.warning.c_str(), answer.GetAllocator()), answer.GetAllocator()
        );
    }
    std::string wrong = check_answer(step, r.status, answer, values);
    if (wrong.empty()) {
        keep(step, answer, values);
    }
    co_return wrong;
}

/// Repeats a GET until it answers as wanted: for what controllers do later.
asio::awaitable<std::string> run_until(
    conformance_target& target, const Value& step, variables& values
) {
    const std::string path = filled(plain(step["until"]), values);
    const steady_time end = target.time->steady_now() + patience;
    const auto pause = std::chrono::milliseconds{50};
    const std::string nothing;
    std::string wrong = "not tried";
    while (target.time->steady_now() < end) {
        exchange_result r = co_await exchange(target, "GET", path, nothing, nothing, nothing);
        Document answer;
        answer.Parse(r.body.c_str());
        wrong = check_answer(step, r.status, answer, values);
        if (wrong.empty()) {
            keep(step, answer, values);
            break;
        }
        const bool slept = co_await sleep_for(*target.time, pause);
        (void)slept;
    }
    co_return wrong;
}

/// Reads events until all wanted ones came, in order. A bookmark that is not wanted is passed over.
asio::awaitable<std::string> run_watch(
    conformance_target& target, const Value& step, variables& values
) {
    http_request request("GET", filled(plain(step["watch"]), values));
    if (step.HasMember("accept")) {
        request.accept = plain(step["accept"]);
    }
    const std::chrono::nanoseconds idle = patience;
    result<std::unique_ptr<response_stream>> opened =
        co_await target.transport->open_stream(request, idle);
    if (!opened) {
        co_return "the watch got no answer: " + opened.error().message;
    }
    const std::unique_ptr<response_stream> stream = std::move(*opened);
    const Value& wanted = step["events"];
    std::string text;
    rapidjson::SizeType at = 0;
    const bool to_the_end = step.HasMember("ends");
    while (at < wanted.Size() || to_the_end) {
        const result<std::string_view> piece = co_await stream->read_some();
        if (!piece) {
            co_return fmt::format("after {} events: {}", at, piece.error().message);
        }
        if (piece->empty()) {
            break;
        }
        text += *piece;
        for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            const std::string one = text.substr(0, end);
            text.erase(0, end + 1);
            Document event;
            event.Parse(one.c_str());
            const bool is_bookmark = string_of(event, "type") == "BOOKMARK";
            const bool wants_bookmark =
                at < wanted.Size() && string_of(wanted[at], "/type") == "BOOKMARK";
            if (is_bookmark && !wants_bookmark) {
                continue;
            }
            if (at >= wanted.Size()) {
                co_return "an event too many: " + one;
            }
            const std::string wrong = compare(event, wanted[at], values);
            if (!wrong.empty()) {
                co_return fmt::format("event {}: {} in {}", at, wrong, one);
            }
            ++at;
            if (at == wanted.Size() && !to_the_end) {
                break;
            }
        }
    }
    stream->close();
    co_return at < wanted.Size() ? fmt::format("only {} events came", at) : std::string();
}

}  // namespace

asio::awaitable<std::string> run_scenario(
    conformance_target& target, const Value& scenario, int number
) {
    variables values;
    values["ns"] = fmt::format("c-{}-{}", target.run_id, number);
    values["n"] = "/api/v1/namespaces/" + values["ns"];
    values["w"] = "/apis/test.signalbox.dev/v1beta1/namespaces/" + values["ns"] + "/widgets";
    std::string body = fmt::format("{{\"metadata\":{{\"name\":\"{}\"}}}}", values["ns"]);
    const std::string method = "POST";
    const std::string path = "/api/v1/namespaces";
    const std::string type = "application/json";
    const std::string accept;
    const exchange_result made = co_await exchange(target, method, path, type, accept, body);
    if (made.status != 201) {
        co_return fmt::format("the namespace could not be made: {} {}", made.status, made.body);
    }
    int index = 0;
    for (const Value& step : scenario["steps"].GetArray()) {
        std::string wrong;
        if (step.HasMember("until")) {
            wrong = co_await run_until(target, step, values);
        } else if (step.HasMember("watch")) {
            wrong = co_await run_watch(target, step, values);
        } else {
            wrong = co_await run_request(target, step, values);
        }
        if (!wrong.empty()) {
            co_return fmt::format(
                "step {} ({}): {}", index, filled(to_text(step), values).substr(0, 300), wrong
            );
        }
        ++index;
    }
    co_return std::string();
}

}  // namespace signalbox::k8sio::server::test
