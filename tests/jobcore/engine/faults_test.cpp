// SPDX-License-Identifier: Apache-2.0
//
// The cause that is named for faults.txt, whoever of the pods is seen first to end.
#include "engine/jobs.hpp"
#include "signalbox_test/source_files.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace signalbox::core;
using signalbox::test::job_builder;
using signalbox::test::source_text;
using signalbox::test::world;

namespace {

struct failed_pod {
    int number = 0;
    int code = 0;
    seconds end{};
    std::string reason;
    std::string log;      ///< as the API server gives it
    std::string message;  ///< as a kubelet takes it from the log
};

struct fault {
    std::string name;
    std::vector<failed_pod> pods;
    std::string by_logs;
    std::string by_messages;
};

/// `\xNN` and `\r` as the bytes that they stand for.
std::string bytes_of(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i, 2) == "\\x") {
            out.push_back(
                static_cast<char>(std::stoi(std::string(text.substr(i + 2, 2)), nullptr, 16))
            );
            i += 3;
        } else if (text.substr(i, 2) == "\\r") {
            out.push_back('\r');
            ++i;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

instant time_of(double second) {
    return signalbox::test::at(100) + milliseconds(static_cast<std::int64_t>(second * 1000));
}

void add_line(std::string_view line, failed_pod& pod) {
    const std::size_t blank = line.find(' ');
    const instant t = time_of(std::stod(std::string(line.substr(0, blank))));
    const std::string text = bytes_of(line.substr(blank + 1)) + "\n";
    std::string time = format_time(t);
    time.pop_back();
    pod.log += fmt::format("{}.{:03}000001Z {}", time, (t - round_down_to_second(t)).count(), text);
    pod.message += text;
}

failed_pod read_pod(const std::string& line) {
    failed_pod pod;
    char reason[32] = "";
    int end = 0;
    REQUIRE(
        std::sscanf(
            line.c_str(), "pod %d exit %d at %d %31s", &pod.number, &pod.code, &end, reason
        ) >= 3
    );
    pod.end = seconds(end);
    pod.reason = *reason == 0 ? "Error" : reason;
    return pod;
}

std::vector<fault> read_faults() {
    std::vector<fault> out;
    const std::string text = source_text("tests/jobcore/engine/faults.txt");
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        if (line.starts_with("== ")) {
            out.push_back({line.substr(3), {}, {}, {}});
        } else if (line.starts_with("pod ")) {
            out.back().pods.push_back(read_pod(line));
        } else if (line.starts_with(' ')) {
            add_line(std::string_view(line).substr(1), out.back().pods.back());
        } else if (line.starts_with("=> ")) {
            out.back().by_logs = out.back().by_messages = line.substr(3);
        } else if (line.starts_with("-> ")) {
            out.back().by_messages = line.substr(3);
        }
    }
    for (fault& f : out) {
        for (failed_pod& pod : f.pods) {
            constexpr std::size_t kept = 2048;
            pod.message.erase(0, pod.message.size() - std::min(pod.message.size(), kept));
        }
    }
    return out;
}

signalbox::test::replica limited(std::string type, int count) {
    signalbox::test::replica out;
    out.type = std::move(type);
    out.replicas = count;
    out.container_more = R"("resources":{"limits":{"memory":"2Gi"}})";
    return out;
}

/// A job whose pods run at the hundredth second.
class faulty_job {
public:
    explicit faulty_job(bool reads_logs)
        : w(job_builder("mnist").replicas(limited("master", 1)).replicas(limited("worker", 2))) {
        w.reads_logs = reads_logs;
        w.start();
    }

    void show_end(const failed_pod& pod) {
        const bool master = pod.number == 0;
        pod_record& p = w.pod(master ? "master" : "worker", master ? 0 : pod.number - 1);
        w.exit(p, pod.code, pod.message);
        p.containers.at(0).reason = pod.reason;
        p.containers.at(0).finished = signalbox::test::at(100) + pod.end;
        w.logs[p.name] = pod.log;
    }

    /// What the job says of its failure, with short names.
    std::string cause() {
        for (int i = 0; i < 9 && !w.status().restarts.last; ++i) {
            w.wake();
        }
        if (!w.status().restarts.last) {
            return "no incident";
        }
        std::string text = w.status().restarts.last->message;
        const std::string base = w.plan().base_name + "-";
        if (const std::size_t at = text.find(base); at != text.npos) {
            text.erase(at, base.size());
        }
        return text;
    }

    world w;
};

/// The pods in that order; after the n-th the job is looked at if bit n of `looks` is set.
std::string cause_seen_in(const std::vector<failed_pod>& order, unsigned looks, instant first) {
    faulty_job job(true);
    for (std::size_t n = 0; n < order.size(); ++n) {
        job.w.to(first + milliseconds(1200 + 200 * static_cast<int>(n)));
        job.show_end(order[n]);
        if ((looks >> n & 1U) != 0) {
            job.w.settle();
        }
    }
    job.w.settle();
    return job.cause();
}

}  // namespace

TEST_CASE("[behaviour 3.13] one cause for a fault, in whatever order and groups its ends are seen"
) {
    int seen = 0;
    for (fault& f : read_faults()) {
        ++seen;
        INFO(f.name);
        const auto by_number = [](const failed_pod& a, const failed_pod& b) {
            return a.number < b.number;
        };
        const instant first =
            signalbox::test::at(100) + std::ranges::min(f.pods, {}, &failed_pod::end).end;
        do {
            for (unsigned looks = 0; looks < 1U << f.pods.size(); ++looks) {
                CAPTURE(looks);
                CHECK(cause_seen_in(f.pods, looks, first) == f.by_logs);
            }
        } while (std::ranges::next_permutation(f.pods, by_number).found);
    }
    CHECK(seen >= 30);
}

TEST_CASE("[behaviour 3.9] the cause of a fault by what pods leave as messages") {
    for (const fault& f : read_faults()) {
        INFO(f.name);
        faulty_job job(false);
        job.w.to(signalbox::test::at(110));
        for (const failed_pod& pod : f.pods) {
            job.show_end(pod);
        }
        job.w.settle();
        CHECK_THAT(job.cause(), Catch::StartsWith(f.by_messages));
    }
}
