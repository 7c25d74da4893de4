// SPDX-License-Identifier: Apache-2.0
#include "progress/receiver.hpp"

#include "http/listen_address.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op::progress {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_name = 253;

/// A training holds one connection for the length of a report; who keeps one open gives way.
k8sio::http_limits limits_of_senders() {
    k8sio::http_limits out;
    out.connections = 2048;
    out.body = 64 * 1024;
    out.idle_time = std::chrono::seconds{10};
    return out;
}

/// What is answered at once; what is found out later is counted only.
struct verdict {
    fate of;
    unsigned status;
    std::string_view words;
};
constexpr verdict verdicts[] = {
    {fate::taken, 200, "{}"},
    {fate::unknown_path, 404, "POST /namespaces/NAMESPACE/PLURAL/JOB\n"},
    {fate::no_token, 401, "a token is expected\n"},
    {fate::not_leading, 503, "another replica decides\n"},
    {fate::queue_full, 429, "too many reports\n"},
};

/// The names of `/namespaces/NS/PLURAL/JOB`; the target may have more in front.
bool read_path(std::string_view path, raw_report& into) {
    std::string* const parts[] = {&into.job_name, &into.plural, &into.ns};
    for (std::string* part : parts) {
        const std::size_t slash = path.rfind('/');
        if (slash == path.npos || slash + 1 == path.size() || path.size() - slash > most_name) {
            return false;
        }
        *part = path.substr(slash + 1);
        path = path.substr(0, slash);
    }
    return path.ends_with("/namespaces");
}

}  // namespace

receiver::receiver(receiver_options options)
    : options_(std::move(options)), queue_(options_.queue) {
    options_.listen.limits = limits_of_senders();
}

receiver::~receiver() = default;

/// On the thread that answers; it waits for that.
template <class Do>
void receiver::on_answers(Do what) {
    if (of_.answers == of_.loop) {
        what();
    } else {
        asio::post(of_.answers, asio::use_future(std::move(what))).wait();
    }
}

std::string receiver::begin(const running_operator& of) {
    of_ = of;
    desk_ = std::make_unique<report_desk>(
        of_.loop,
        *of_.api,
        [this](const report_sender& from, const core::progress_message* said) {
            return of_.work->take_report(from, said);
        },
        of_.log,
        options_.desk
    );
    std::string wrong;
    on_answers([this, &wrong] {
        time_ = k8sio::make_machine_clock(of_.answers);
        server_ = std::make_unique<http_server>(
            of_.answers,
            *time_,
            options_.listen,
            [this](const http_question& question) { return answer(question); }
        );
        wrong = options_.socket ? server_->start(*options_.socket) : server_->start();
        address_ = wrong.empty() ? server_->address() : std::string();
    });
    if (!wrong.empty()) {
        end();
        return "progress: " + wrong;
    }
    if (of_.log) {
        of_.log->info("receiving reports of progress: address={}", address_);
    }
    if (options_.endpoints) {
        endpoint to = *options_.endpoints;
        to.port = read_listen_address(address_).value_or(listen_address()).port;
        endpoints_ = std::make_unique<endpoint_writer>(of_.loop, *of_.api, std::move(to), of_.log);
    }
    look_at_leader();
    return {};
}

void receiver::end() {
    if (!desk_) {
        return;
    }
    of_.time->cancel(std::exchange(round_, 0));
    of_.time->cancel(std::exchange(leader_, 0));
    on_answers([this] {
        server_.reset();
        time_.reset();
    });
    desk_->stop();
    if (endpoints_) {
        endpoints_->stop();
    }
}

std::string receiver::address() const {
    return address_;
}

http_answer receiver::answer(const http_question& question) {
    const fate came_to = take_in(question);
    if (came_to != fate::taken) {
        ++counts_[static_cast<std::size_t>(came_to)];
    }
    const auto found = std::ranges::find(verdicts, came_to, &verdict::of);
    http_answer out = plain_answer(found->status, std::string(found->words));
    out.content_type = found->status == 200 ? "application/json" : out.content_type;
    return out;
}

/// `taken`: it waits to be looked at.
fate receiver::take_in(const http_question& question) {
    raw_report report;
    if (question.method != "POST" || !read_path(question.path, report)) {
        return fate::unknown_path;
    }
    if (question.bearer.empty()) {
        return fate::no_token;
    }
    if (!leads_) {
        return fate::not_leading;
    }
    report.token = question.bearer;
    report.body = question.body;
    switch (queue_.put(std::move(report))) {
        case report_queue::put_result::first:
            asio::post(of_.loop, [this] { plan_round(); });
            break;
        case report_queue::put_result::queued:
            break;
        case report_queue::put_result::replaced:
            ++counts_[static_cast<std::size_t>(fate::too_often)];
            break;
        case report_queue::put_result::full:
            return fate::queue_full;
    }
    return fate::taken;
}

/// Who leads changes rarely, and asking is for the thread that decides.
void receiver::look_at_leader() {
    leads_ = of_.leads();
    if (leads_ && endpoints_) {
        endpoints_->lead();
    }
    leader_ = of_.time->schedule(of_.time->steady_now() + std::chrono::seconds{1}, [this] {
        look_at_leader();
    });
}

void receiver::plan_round() {
    if (round_ != 0 || address_.empty() || !server_) {
        return;
    }
    round_ = of_.time->schedule(std::max(next_round_, of_.time->steady_now()), [this] {
        round_ = 0;
        look_at_reports();
    });
}

void receiver::look_at_reports() {
    next_round_ = of_.time->steady_now() +
                  std::chrono::duration_cast<k8sio::steady_time::duration>(options_.round);
    std::vector<raw_report> reports = queue_.take_all();
    if (!of_.leads()) {
        counts_[static_cast<std::size_t>(fate::not_leading)] += reports.size();
        return;
    }
    desk_->look_at(std::move(reports));
}

std::uint64_t receiver::count(fate f) const {
    return counts_[static_cast<std::size_t>(f)] + (desk_ ? desk_->count(f) : 0);
}

std::string receiver::metrics_text() const {
    std::string out =
        "# HELP signalbox_progress_reports_total Reports of progress, by what became of them.\n"
        "# TYPE signalbox_progress_reports_total counter\n";
    for (std::size_t i = 0; i < fates; ++i) {
        const auto f = static_cast<fate>(i);
        out += fmt::format(
            "signalbox_progress_reports_total{{outcome=\"{}\"}} {}\n", to_string(f), count(f)
        );
    }
    return out;
}

}  // namespace signalbox::op::progress
