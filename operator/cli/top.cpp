// SPDX-License-Identifier: Apache-2.0
//
// `signalbox top`: the jobs of a cluster in a table; on a terminal it follows them in place.
#include "cli/cli.hpp"
#include "cli/cluster_session.hpp"
#include "cli/commands.hpp"
#include "cli/job_board.hpp"
#include "cli/job_lists.hpp"
#include "cli/print_line.hpp"
#include "cli/table.hpp"
#include "controller/resource_table.hpp"

#include <jobcore/spec.hpp>
#include <k8sio/reflector.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include <unistd.h>

namespace signalbox::op::cli {

namespace asio = boost::asio;

namespace {

// The screen that full-screen programs have, so that what was there before comes back.
constexpr std::string_view other_screen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view first_screen = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view from_the_top = "\x1b[H\x1b[J";

/// Carries one kind of jobs to the table.
class board_sink final : public k8sio::reflector_sink {
public:
    board_sink(core::job_kind kind, job_board& to) : kind_(kind), to_(&to) {}

    void upsert(std::string_view json) override { to_->put(kind_, json); }
    void remove(std::string_view json) override { to_->erase(json); }
    void replace_begin() override { listed_.clear(); }
    void replace_item(std::string_view json) override { listed_.insert(to_->put(kind_, json)); }
    void replace_end(std::string_view) override { to_->keep_only(kind_, listed_); }

private:
    core::job_kind kind_;
    job_board* to_;
    std::set<std::string> listed_;
};

/// Draws the table each second, and says what keeps it from being true.
class live_board {
public:
    live_board(cluster_session& session, const top_options& wanted, job_board& board)
        : session_(&session), board_(&board), signals_(session.loop(), SIGINT, SIGTERM) {
        k8sio::reflector_options options;
        options.ns = wanted.all_namespaces ? "" : session.ns();
        options.label_selector = wanted.selector;
        for (const core::job_kind kind : core::all_job_kinds) {
            sinks_.push_back(std::make_unique<board_sink>(kind, board));
            watches_.push_back(std::make_unique<k8sio::reflector>(
                session.api(), type_of(kind), *sinks_.back(), options
            ));
        }
    }

    void run(std::ostream& out) {
        for (const auto& watch : watches_) {
            asio::co_spawn(session_->loop(), watch->run(), [](std::exception_ptr broken) {
                if (broken) {
                    std::rethrow_exception(broken);
                }
            });
        }
        signals_.async_wait([this](boost::system::error_code, int) { stop(); });
        out << other_screen;
        draw(out);
        try {
            session_->loop().run();
        } catch (...) {
            out << first_screen << std::flush;
            throw;
        }
        out << first_screen << std::flush;
    }

private:
    void stop() {
        session_->api().time().cancel(timer_);
        for (const auto& watch : watches_) {
            watch->stop();
        }
    }

    void draw(std::ostream& out) {
        k8sio::clock& time = session_->api().time();
        board_->set_time(session_->server_time());
        std::string text = board_->summary() + "\n";
        for (const auto& watch : watches_) {
            if (!watch->last_error().empty()) {
                text += painted(
                    fmt::format("{}: {}\n", watch->type().plural(), watch->last_error()),
                    colour::red
                );
            }
        }
        text += "\n" + board_->table();
        out << from_the_top << fit_terminal(text, 1) << std::flush;
        timer_ =
            time.schedule(time.steady_now() + std::chrono::seconds{1}, [this, &out] { draw(out); });
    }

    cluster_session* session_;
    job_board* board_;
    asio::signal_set signals_;
    k8sio::clock::timer_id timer_ = 0;
    std::vector<std::unique_ptr<board_sink>> sinks_;
    std::vector<std::unique_ptr<k8sio::reflector>> watches_;
};

}  // namespace

int top(const top_options& options, std::ostream& out, std::ostream& err) {
    const auto refuse = [&](const std::string& why) {
        print_line(err, "signalbox top: {}", why);
        return exit_refused;
    };
    cluster_session session(options.cluster, options.ns);
    if (!session.problem().empty()) {
        return refuse(session.problem());
    }
    const bool terminal = &out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
    job_board board(options.all_namespaces, terminal && output_has_colours());
    if (terminal && !options.once) {
        live_board(session, options, board).run(out);
        return exit_ok;
    }
    const std::string ns = options.all_namespaces ? "" : session.ns();
    job_lists lists(
        session.api(),
        ns,
        options.selector,
        [&](core::job_kind kind, std::string_view json) { board.put(kind, json); }
    );
    session.run(lists.run());
    board.set_time(session.server_time());
    if (!lists.problem().empty()) {
        return refuse(lists.problem());
    }
    if (board.empty()) {
        print_line(err, "There are no training jobs in {}.", ns.empty() ? "the cluster" : ns);
        return exit_ok;
    }
    out << board.table();
    return exit_ok;
}

}  // namespace signalbox::op::cli
