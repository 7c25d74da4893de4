// SPDX-License-Identifier: Apache-2.0
//
// The receiver of progress under many senders: jobs of 100 pods on the embedded server in process,
// a report of each pod every five seconds by a connection of its own, as `transformers` sends them.
// Prints what a training beside them notices: steps a second, with a report in each, as a ratio to
// those without any; how long an answer takes; what became of the reports, and CPU time.
//
// usage: bench_receiver [<senders>] [<seconds of each part>]      10000 and 10 by default
#include "controller/controller.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/schema.hpp"
#include "k8sio/server/api_server.hpp"
#include "progress/receiver.hpp"
#include "signalbox_test/cut_transport.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <time.h>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace signalbox;
using namespace std::chrono_literals;

namespace {

using steady = std::chrono::steady_clock;
constexpr int pods_of_job = 100;
constexpr auto report_every = 5s;
constexpr auto step_time = 20ms;

[[noreturn]] void give_up(const std::string& why) {
    fmt::print(stderr, "{}\n", why);
    std::_Exit(1);
}

double seconds_of(steady::duration d) {
    return std::chrono::duration<double>(d).count();
}

double thread_seconds(clockid_t clock) {
    std::timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// An io_context with a thread of its own.
class threaded {
public:
    threaded() : thread_([this] { loop.run(); }) {}
    ~threaded() {
        work_.reset();
        loop.stop();
        thread_.join();
    }
    double cpu() {
        clockid_t clock{};
        ::pthread_getcpuclockid(thread_.native_handle(), &clock);
        return thread_seconds(clock);
    }
    asio::io_context loop{1};

private:
    asio::executor_work_guard<asio::io_context::executor_type> work_{loop.get_executor()};
    std::thread thread_;
};

std::string request_of(const std::string& job, const std::string& token, int step) {
    const std::string body = fmt::format(
        R"({{"trainerStatus":{{"metrics":[{{"name":"current_step","value":"{}"}},)"
        R"({{"name":"total_steps","value":"100000"}},{{"name":"loss","value":"2.31"}}]}}}})",
        step
    );
    return fmt::format(
        "POST /namespaces/default/pytorchtrainingjobs/{} HTTP/1.1\r\nHost: x\r\n"
        "Connection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{}",
        job,
        token,
        body.size(),
        body
    );
}

/// Of one part; reports that are under way outlive it.
struct tally {
    std::atomic<bool> over{false};   ///< no more are to be sent
    std::atomic<bool> ended{false};  ///< no more are sent
    std::atomic<std::uint64_t> sent{0}, good{0};
};

/// One report of one sender, whatever comes of it.
asio::awaitable<void> send(tcp::endpoint to, std::string request, std::shared_ptr<tally> counts) {
    boost::system::error_code wrong;
    auto to_wrong = asio::redirect_error(asio::use_awaitable, wrong);
    const auto executor = co_await asio::this_coro::executor;
    tcp::socket stream(executor);
    co_await stream.async_connect(to, to_wrong);
    if (wrong) {
        co_return;
    }
    co_await asio::async_write(stream, asio::buffer(request), to_wrong);
    std::string answer;
    co_await asio::async_read(stream, asio::dynamic_buffer(answer), to_wrong);
    counts->good += answer.starts_with("HTTP/1.1 200") ? 1 : 0;
}

struct sender {
    std::string job;
    std::string token;
};

/// Every sender reports each five seconds, one after the other.
asio::awaitable<void> send_all(
    tcp::endpoint to, const std::vector<sender>* senders, std::shared_ptr<tally> counts
) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    const auto begin = steady::now();
    const double rate = static_cast<double>(senders->size()) / seconds_of(report_every);
    std::uint64_t next = 0;
    while (!counts->over) {
        const auto due = static_cast<std::uint64_t>(seconds_of(steady::now() - begin) * rate);
        for (; next < due; ++next) {
            const sender& one = (*senders)[next % senders->size()];
            std::string request =
                request_of(one.job, one.token, static_cast<int>(next / senders->size()) + 1);
            asio::co_spawn(executor, send(to, std::move(request), counts), asio::detached);
        }
        counts->sent = next;
        timer.expires_after(2ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

/// What a training notices that reports in each step; without `to` it reports nothing.
struct training {
    double steps_in_a_second = 0;
    std::vector<double> answers;  ///< milliseconds each, sorted

    void run(const tcp::endpoint* to, const sender& as, steady::duration length) {
        const auto begin = steady::now();
        int steps = 0;
        while (steady::now() - begin < length) {
            std::this_thread::sleep_for(step_time);
            ++steps;
            if (to != nullptr) {
                const auto asked = steady::now();
                asio::io_context loop;
                asio::co_spawn(
                    loop,
                    send(*to, request_of(as.job, as.token, steps), std::make_shared<tally>()),
                    asio::detached
                );
                loop.run();
                answers.push_back(seconds_of(steady::now() - asked) * 1000);
            }
        }
        steps_in_a_second = steps / seconds_of(steady::now() - begin);
        std::ranges::sort(answers);
    }
    double at(double share) const {
        return answers.empty() ? 0
                               : answers[static_cast<std::size_t>(
                                     share * static_cast<double>(answers.size() - 1)
                                 )];
    }
};

class bench {
public:
    explicit bench(int senders) : jobs_(std::max(senders / pods_of_job, 1)) {
        for (const core::job_kind kind : core::all_job_kinds) {
            if (const auto added = server_.add_custom_resource(core::crd_json(kind));
                added.has_error()) {
                give_up(added.error().text());
            }
        }
        asio::co_spawn(loop_, work_.run(), [this](std::exception_ptr) { ended_ = true; });
        op::running_operator of;
        of.loop = loop_.get_executor();
        of.answers = answers_.loop.get_executor();
        of.time = time_.get();
        of.work = &work_;
        of.api = &reviews_;
        of.leads = [] { return true; };
        if (const std::string wrong = receives_.begin(of); !wrong.empty()) {
            give_up(wrong);
        }
        const std::string at = receives_.address();
        to_ = {
            asio::ip::make_address("127.0.0.1"),
            static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1)))};
    }
    ~bench() {
        receives_.end();
        work_.stop();
        wait([this] { return ended_; });
        server_.stop();
    }

    void run(steady::duration length) {
        const auto begin = steady::now();
        make_pods();
        fmt::print(
            "{} pods of {} jobs after {:.1f} s\n",
            jobs_ * pods_of_job,
            jobs_,
            seconds_of(steady::now() - begin)
        );
        fmt::print(
            "{:>44} {:>8} {:>7} {:>22} {:>9}\n",
            "",
            "steps/s",
            "ratio",
            "answer ms 50/99/100 %",
            "reports/s"
        );
        part("no report at all", length, nullptr, false);
        part("alone", length, nullptr, true);
        part("beside all, whose tokens are new", length, &senders_, true);
        part("beside all, whose tokens are known", length, &senders_, true);
        way_->cut = true;
        std::vector<sender> forged = senders_;
        for (sender& one : forged) {
            one.token.back() = one.token.back() == 'A' ? 'Q' : 'A';
            one.token[one.token.size() - 5] = one.token[one.token.size() - 5] == 'A' ? 'Q' : 'A';
        }
        part("beside forged tokens, the API server hangs", length, &forged, true);
    }

private:
    void wait(const std::function<bool()>& done) {
        while (!done()) {
            loop_.run_one_for(10ms);
        }
    }

    void make_pods() {
        bool made = false;
        asio::co_spawn(loop_, create_jobs(), [&](std::exception_ptr) { made = true; });
        wait([&] {
            return made && work_.pod_count() >= static_cast<std::size_t>(jobs_ * pods_of_job);
        });
        bool have = false;
        asio::co_spawn(loop_, get_tokens(), [&](std::exception_ptr) { have = true; });
        wait([&] { return have; });
    }

    asio::awaitable<void> create_jobs() {
        const k8sio::resource_type& type = op::type_of(core::job_kind::pytorch);
        for (int i = 0; i < jobs_; ++i) {
            std::string body = fmt::format(
                R"({{"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
                R"("metadata":{{"name":"job-{}"}},"spec":{{"runPolicy":{{"progress":{{}}}},)"
                R"("replicaSpecs":[{{"type":"worker","replicas":{},"template":{{"spec":{{"containers":)"
                R"([{{"name":"pytorch","image":"train:1","args":["train.py"]}}]}}}}}}]}}}})",
                i,
                pods_of_job
            );
            const auto made = co_await user_.create(type, "default", std::move(body));
            if (made.has_error()) {
                give_up(made.error().text());
            }
        }
    }

    asio::awaitable<void> get_tokens() {
        k8sio::list_options rest;
        do {
            const auto page = co_await user_.list(k8sio::resources::pods(), "default", rest);
            if (page.has_error()) {
                give_up(page.error().text());
            }
            for (const std::string& pod : page->items) {
                co_await get_token(pod);
            }
            rest.continue_token = page->continue_token;
        } while (!rest.continue_token.empty());
    }

    asio::awaitable<void> get_token(const std::string& text) {
        rapidjson::Document pod;
        pod.Parse(text.c_str());
        const auto string_at = [&pod](const char* pointer) {
            return std::string(rapidjson::Pointer(pointer).Get(pod)->GetString());
        };
        std::string body = fmt::format(
            R"({{"spec":{{"audiences":["{}"],"boundObjectRef":{{"kind":"Pod","name":"{}","uid":"{}"}}}}}})",
            core::progress_audience,
            string_at("/metadata/name"),
            string_at("/metadata/uid")
        );
        const auto answer = co_await user_.raw(
            "POST",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            "application/json",
            std::move(body)
        );
        if (answer.has_error()) {
            give_up(answer.error().text());
        }
        rapidjson::Document token;
        token.Parse(answer->c_str());
        senders_.push_back(
            {string_at("/metadata/labels/tensorstack.dev~1owner-name"),
             rapidjson::Pointer("/status/token").Get(token)->GetString()}
        );
    }

    void part(
        const char* name, steady::duration length, const std::vector<sender>* beside, bool reports
    ) {
        const auto counts = std::make_shared<tally>();
        const std::uint64_t taken = receives_.count(op::progress::fate::taken);
        const std::uint64_t writes = work_.counters().status_writes;
        const double cpu = thread_seconds(CLOCK_THREAD_CPUTIME_ID);
        const double answering = answers_.cpu();
        if (beside != nullptr) {
            asio::co_spawn(
                clients_.loop,
                send_all(to_, beside, counts),
                [counts](std::exception_ptr) { counts->ended = true; }
            );
        }
        training seen;
        std::atomic<bool> done{false};
        std::thread other([&] {
            seen.run(reports ? &to_ : nullptr, senders_.front(), length);
            done = true;
        });
        wait([&] { return done.load(); });
        counts->over = true;
        other.join();
        wait([&] { return beside == nullptr || counts->ended; });
        wait_a_moment();
        if (baseline_ == 0) {
            baseline_ = seen.steps_in_a_second;
        }
        const double seconds = seconds_of(length);
        fmt::print(
            "{:>44} {:8.1f} {:7.3f} {:>8.1f} {:>6.1f} {:>6.1f} {:9.0f}\n",
            name,
            seen.steps_in_a_second,
            seen.steps_in_a_second / baseline_,
            seen.at(0.5),
            seen.at(0.99),
            seen.at(1),
            static_cast<double>(counts->sent) / seconds
        );
        fmt::print(
            "{:>44} {} of {} answered 200, {} taken, {} status writes; CPU {:.2f} s/s deciding, "
            "{:.2f} s/s answering\n",
            "",
            counts->good.load(),
            counts->sent.load(),
            receives_.count(op::progress::fate::taken) - taken,
            work_.counters().status_writes - writes,
            (thread_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu) / seconds,
            (answers_.cpu() - answering) / seconds
        );
    }

    /// What is under way ends.
    void wait_a_moment() {
        const auto until = steady::now() + 1s;
        wait([&] { return steady::now() >= until; });
    }

    static op::controller_options reporting() {
        op::controller_options out;
        out.reports_to.url = "http://receiver";
        return out;
    }
    static op::progress::receiver_options local() {
        op::progress::receiver_options out;
        out.listen.address = "127.0.0.1:0";
        return out;
    }

    int jobs_;
    double baseline_ = 0;
    asio::io_context loop_{1};
    std::unique_ptr<k8sio::clock> time_ = k8sio::make_machine_clock(loop_.get_executor());
    k8sio::server::api_server server_{loop_.get_executor(), *time_};
    std::unique_ptr<k8sio::transport> user_way_ = server_.connect(), work_way_ = server_.connect();
    k8sio::client user_{*user_way_, *time_}, for_work_{*work_way_, *time_};
    std::unique_ptr<test::cut_transport> way_ =
        std::make_unique<test::cut_transport>(server_.connect(), *time_);
    k8sio::client reviews_{*way_, *time_};
    op::controller work_{loop_.get_executor(), for_work_, core::policy(), reporting()};
    bool ended_ = false;
    threaded answers_;
    threaded clients_;
    op::progress::receiver receives_{local()};
    tcp::endpoint to_;
    std::vector<sender> senders_;
};

}  // namespace

int main(int argc, char** argv) {
    const int senders = argc > 1 ? std::atoi(argv[1]) : 10'000;
    const int seconds = argc > 2 ? std::atoi(argv[2]) : 10;
    bench(senders).run(std::chrono::seconds{std::max(seconds, 1)});
    return 0;
}
