// SPDX-License-Identifier: Apache-2.0
//
// A pod's machine among answers and events that come in any order: what holds whatever happens.
#include "pod_script.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;
namespace commands = kubelet::pod_commands;

namespace {

kubelet::pod_spec crowded_pod() {
    return spec_of(
        R"("terminationGracePeriodSeconds":5,"activeDeadlineSeconds":900,)"
        R"("initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always",)"
        R"("startupProbe":{"exec":{"command":["x"]}},"lifecycle":{"preStop":{"exec":{"command":["x"]}}}}],)"
        R"("containers":[{"name":"c","livenessProbe":{"exec":{"command":["x"]}}},)"
        R"({"name":"d","lifecycle":{"postStart":{"exec":{"command":["x"]}}},)"
        R"("readinessProbe":{"exec":{"command":["x"]}}}])"
    );
}

/// Carries commands out, in any order and with any result, and checks each.
class any_world {
public:
    any_world(const kubelet::pod_spec& pod, unsigned seed) : random_(seed), script_(pod) {
        containers_.resize(pod.containers.size());
        carry_out();
    }

    void go_on() {
        switch (pick(12)) {
            case 0:
                change_object();
                break;
            case 1:
                script_.machine.on_references(script_.now);
                break;
            case 2:
                end_one();
                break;
            case 3:
            case 4:
            case 5:
                wait();
                break;
            default:
                answer_one();
        }
        carry_out();
    }

    /// The object goes, what runs ends, and all is answered.
    void come_to_rest() {
        script_.machine.on_object_gone(script_.now);
        carry_out();
        for (int i = 0; i < 200 && forgets_ == 0; ++i) {
            answer_one();
            carry_out();
            end_one();
            carry_out();
        }
        CHECK(releases_ == 1);
        CHECK(forgets_ == 1);
    }

private:
    enum class place { nothing, starting, runs };
    struct one {
        place at = place::nothing;
        int run = 0;
    };
    using answer = std::function<void()>;

    unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
    kubelet::handler_result result() { return {pick(2) == 0, "no"}; }
    kubelet::write_answer said() {
        return pick(60) == 0  ? kubelet::write_answer::gone
               : pick(3) == 0 ? kubelet::write_answer::failed
                              : kubelet::write_answer::done;
    }
    kubelet::pod_machine& machine() { return script_.machine; }

    void change_object() {
        kubelet::pod_spec changed = machine().pod();
        if (pick(20) == 0) {
            changed.deleting = true;
            changed.grace = std::chrono::seconds(pick(5));
        }
        changed.labels["x"] = std::to_string(pick(9));
        changed.annotations["sim.signalbox.dev/fail-at"] = std::to_string(pick(9));
        if (pick(40) == 0) {
            machine().on_object_gone(script_.now);
        } else {
            machine().on_object(script_.now, changed);
        }
    }

    void wait() {
        const auto at = machine().wake();
        if (at) {
            script_.pass(std::max(*at - script_.now.steady, std::chrono::nanoseconds(0)));
        }
        machine().on_time(script_.now);
        carry_out();
        // Who is woken has done what was due.
        const auto next = machine().wake();
        CHECK((!next || *next > script_.now.steady));
    }

    void end_one() {
        for (std::size_t i = 0; i < containers_.size(); ++i) {
            if (containers_[i].at == place::runs && pick(2) == 0) {
                containers_[i].at = place::nothing;
                script_.end(static_cast<int>(pick(2)), i);
                return;
            }
        }
    }

    void answer_one() {
        if (!answers_.empty()) {
            const auto it = answers_.begin() + pick(static_cast<unsigned>(answers_.size()));
            const answer now = *it;
            answers_.erase(it);
            now();
        }
    }

    void carry_out() {
        for (const kubelet::pod_command& c : machine().take_commands()) {
            INFO(kubelet::to_string(c));
            CHECK(forgets_ == 0);
            std::visit([this](const auto& command) { on(command); }, c);
        }
    }

    void on(const commands::prepare&) {
        CHECK(preparing_++ == 0);
        CHECK(releases_ == 0);
        answers_.push_back([this] {
            --preparing_;
            if (pick(2) == 0) {
                machine().on_prepared(script_.now);
            } else {
                machine().on_prepare_failed(script_.now, kubelet::refusal("A", "b"));
            }
        });
    }
    void on(const commands::refresh&) {
        CHECK(refreshing_++ == 0);
        answers_.push_back([this] {
            --refreshing_;
            machine().on_refreshed(script_.now);
        });
    }
    void on(const commands::start& c) {
        one& of = containers_.at(c.container);
        CHECK(of.at == place::nothing);
        CHECK(releases_ == 0);
        of.at = place::starting;
        answers_.push_back([this, c, &of] {
            if (pick(3) == 0) {
                of.at = place::nothing;
                const kubelet::refusal why(pick(2) == 0 ? "StartError" : "A", "b");
                machine().on_start_failed(script_.now, c.container, why);
            } else {
                of.at = place::runs;
                of.run = c.run;
                machine().on_started(script_.now, c.container);
            }
        });
    }
    void on(const commands::terminate& c) { CHECK(containers_.at(c.container).at == place::runs); }
    void on(const commands::kill& c) { CHECK(containers_.at(c.container).at == place::runs); }
    void on(const commands::call_hook& c) {
        CHECK(containers_.at(c.container).at == place::runs);
        CHECK(containers_.at(c.container).run == c.run);
        answers_.push_back([this, c] {
            machine().on_hook(script_.now, c.container, c.run, c.which, result());
        });
    }
    void on(const commands::ask_probe& c) {
        CHECK(containers_.at(c.container).at == place::runs);
        CHECK(containers_.at(c.container).run == c.run);
        answers_.push_back([this, c] {
            machine().on_probe(script_.now, c.container, c.run, c.which, result());
        });
    }
    void on(const commands::write_status&) {
        CHECK(requests_++ == 0);
        answers_.push_back([this] {
            --requests_;
            machine().on_written(script_.now, said());
        });
    }
    void on(const commands::remove_object&) {
        CHECK(requests_++ == 0);
        CHECK(releases_ == 1);
        answers_.push_back([this] {
            --requests_;
            machine().on_removed(script_.now, said());
        });
    }
    void on(const commands::delete_by_fault&) {}
    void on(const commands::cut_network&) {}
    void on(const commands::tell&) {}
    void on(const commands::complain&) {}
    void on(const commands::count_start&) { CHECK(starts_++ == 0); }
    void on(const commands::release&) {
        CHECK(releases_++ == 0);
        CHECK(preparing_ == 0);
        CHECK(std::ranges::all_of(containers_, [](const one& c) { return c.at == place::nothing; })
        );
    }
    void on(const commands::forget&) {
        CHECK(releases_ == 1);
        CHECK(requests_ == 0);
        ++forgets_;
    }

    std::mt19937 random_;
    pod_script script_;
    std::vector<one> containers_;
    std::vector<answer> answers_;
    int preparing_ = 0, refreshing_ = 0, requests_ = 0;
    int starts_ = 0, releases_ = 0, forgets_ = 0;
};

}  // namespace

TEST_CASE("whatever happens to a pod, its commands fit what runs, and it is forgotten in the end") {
    kubelet::pod_spec pod = crowded_pod();
    for (unsigned seed = 0; seed < 300; ++seed) {
        pod.restart = seed % 3 == 0   ? kubelet::restart_policy::never
                      : seed % 3 == 1 ? kubelet::restart_policy::on_failure
                                      : kubelet::restart_policy::always;
        INFO("seed " << seed);
        any_world world(pod, seed);
        for (int i = 0; i < 120; ++i) {
            world.go_on();
        }
        world.come_to_rest();
    }
}
