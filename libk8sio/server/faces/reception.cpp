// SPDX-License-Identifier: Apache-2.0
#include "server/faces/reception.hpp"

#include "protocol/http_date.hpp"

#include <fmt/format.h>

#include <vector>

namespace signalbox::k8sio::server {
namespace {

/// Beyond this many distinct paths new ones are counted together: memory stays bounded.
constexpr std::size_t most_counted_paths = 100000;

}  // namespace

reception::reception(boost::asio::any_io_executor executor, clock& time, server_options options)
    : executor_(executor),
      options_(std::move(options)),
      world_(time, options_),
      definitions_(world_),
      collector_(executor, world_, options_.gc_delay),
      front_(executor, world_, definitions_, options_) {
    world_.objects().observe([this](resource_table& table, const history_event& event) {
        definitions_.on_write(table, event);
        collector_.on_write(table, event);
    });
}

void reception::count_request(const std::string& method, const api_request& request) {
    std::string path = request.path;
    if (request.flag("watch")) {
        path += "?watch";
    }
    auto key = std::make_pair(method, std::move(path));
    const auto it = counts_.find(key);
    if (it != counts_.end()) {
        ++it->second;
    } else if (counts_.size() < most_counted_paths) {
        counts_.emplace(std::move(key), 1);
    } else {
        ++counts_[{method, std::string()}];
    }
}

reception::outcome_of_request reception::receive(
    const std::string& method,
    std::string_view target,
    std::string_view content_type,
    std::string accept,
    std::string body,
    upgrade_offer upgrade
) {
    api_request request =
        make_request(method, target, content_type, std::move(accept), std::move(body));
    request.upgrade = std::move(upgrade);
    count_request(method, request);
    ++requests_;
    outcome_of_request out;
    const fault f = hook_ ? hook_(method, target) : fault{};
    if (f.drop) {
        out.dropped = true;
        return out;
    }
    if (f.status != 0) {
        refusal r;
        r.code = f.status;
        r.reason = f.reason;
        r.message = f.message;
        // The real server names a delay with both (REQUIREMENTS.md R2).
        r.retry_after = f.status == 429 || f.status == 503 ? 1 : 0;
        out.answer = api_answer(r);
    } else {
        out.answer = front_.handle(request);
    }
    if (f.apply_then_drop) {
        out.answer = {};
        out.dropped = true;
        return out;
    }
    auto& headers = out.answer.headers;
    headers.emplace_back("Audit-Id", fmt::format("00000000-0000-4000-8000-{:012x}", requests_));
    headers.emplace_back("Cache-Control", "no-cache, private");
    headers.emplace_back("Content-Type", out.answer.content_type);
    headers.emplace_back("Date", protocol::format_http_date(world_.time().wall_now()));
    return out;
}

std::uint64_t reception::count(std::string_view method, std::string_view path_part) const {
    std::uint64_t n = 0;
    for (const auto& [key, times] : counts_) {
        if ((method.empty() || key.first == method) &&
            key.second.find(path_part) != std::string::npos) {
            n += times;
        }
    }
    return n;
}

void reception::break_watches() {
    // Ending one may remove it from the set.
    const std::vector<open_watch*> all(open_.begin(), open_.end());
    for (open_watch* w : all) {
        if (open_.count(w) != 0) {
            w->end();
        }
    }
}

}  // namespace signalbox::k8sio::server
