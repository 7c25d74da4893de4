// SPDX-License-Identifier: Apache-2.0
//
// The cause that is named for faults.txt, whoever of the pods is seen first to end.
#include "engine/jobs.hpp"
#include "jobcore/strings.hpp"
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
    std::string written;  ///< without times
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
    pod.written += text;
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

constexpr std::size_t kubelet_tail = 2048;

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string first_lines(const std::string& text, std::size_t lines) {
    std::size_t end = 0;
    for (; lines > 0; --lines) {
        end = text.find('\n', end) + 1;
    }
    return text.substr(0, end);
}

/// What comes of it if only its first lines were written out.
failed_pod with_lines(failed_pod pod, std::size_t lines) {
    pod.log = first_lines(pod.log, lines);
    pod.message = last_bytes(first_lines(pod.written, lines), kubelet_tail);
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
            pod.message = last_bytes(pod.written, kubelet_tail);
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

    bool tells_consequence() const {
        return w.job().status.restarts.last && w.job().status.restarts.last->consequence;
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

namespace {

struct found_cause {
    std::string cause;
    bool consequence = false;
};

/// All pods are seen at once; only the logs of `read` are there.
found_cause cause_by_logs_of(const std::vector<failed_pod>& pods, unsigned read) {
    faulty_job job(true);
    job.w.to(signalbox::test::at(160));
    for (failed_pod pod : pods) {
        pod.log = (read >> pod.number & 1U) != 0 ? pod.log : "";
        job.show_end(pod);
    }
    job.w.settle();
    std::string cause = job.cause();
    return {std::move(cause), job.tells_consequence()};
}

/// Whose failure the cause is of; the faults have pods of these names.
int number_of(const std::string& cause) {
    return cause.starts_with("pod master-0") ? 0 : cause.starts_with("pod worker-0") ? 1 : 2;
}

}  // namespace

TEST_CASE("[behaviour 3.13] however much of the other pods' logs is left, no other cause is named"
) {
    for (const fault& f : read_faults()) {
        INFO(f.name);
        const int named = number_of(f.by_logs);
        const found_cause whole = cause_by_logs_of(f.pods, ~0U);
        CHECK(whole.cause == f.by_logs);
        for (std::size_t i = 0; i < f.pods.size() && !whole.consequence; ++i) {
            const bool other = f.pods[i].number != named;
            for (std::size_t n = 0; other && n < lines_of(f.pods[i].log); ++n) {
                CAPTURE(i, n);
                std::vector<failed_pod> pods = f.pods;
                pods[i] = with_lines(pods[i], n);
                const found_cause found = cause_by_logs_of(pods, ~0U);
                CHECK((found.consequence || number_of(found.cause) == named));
            }
        }
    }
}

TEST_CASE("[behaviour 3.13] whichever of the logs is read, a victim is told as such") {
    for (const fault& f : read_faults()) {
        INFO(f.name);
        const bool same_by_messages = f.by_logs == f.by_messages;
        for (unsigned read = 0; read < 1U << f.pods.size() && same_by_messages; ++read) {
            CAPTURE(read);
            const found_cause found = cause_by_logs_of(f.pods, read);
            CHECK((found.consequence || number_of(found.cause) == number_of(f.by_logs)));
        }
    }
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
