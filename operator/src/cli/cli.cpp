// SPDX-License-Identifier: Apache-2.0
//
// The commands as CLI11 sees them: names, flags, help texts. What they do is elsewhere.
#include "cli/cli.hpp"

#include "cli/commands.hpp"
#include "cli/scope.hpp"
#include "cli/settings.hpp"

#include <jobcore/schema.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string_view>

namespace signalbox::op::cli {

namespace {

constexpr const char* overview =
    R"(Runs distributed training jobs on Kubernetes: DeepSpeed, PyTorch (plain and torchrun), ColossalAI.

Without a cluster:  validate, plan, explain, docs, dev
With a cluster:     crds, rbac, run, explain, wait)";

constexpr const char* overview_footer = R"(
Try it, with no cluster and in a few seconds:
  signalbox dev --apply examples/manifests/ddp.yaml --until-finished

`signalbox COMMAND --help` says more about each.
Exit codes: 0 done, 1 done with a failure as the result, 2 refused (command line, file, setting).)";

constexpr const char* validate_footer = R"(
Every problem is one line with file, line, column and field:
  train.yaml:12:7: /spec/replicaSpecs/0/type: ...
Objects of other kinds are skipped. Nothing is sent anywhere. A job that --live has too is checked as
an update of it: some fields cannot be changed, others only while the job is paused.

Examples:
  signalbox validate train.yaml
  kubectl get pj -o yaml | signalbox validate train.yaml --live -
  kubectl get pj mnist -o yaml | signalbox validate -
  signalbox validate --output json jobs/ | jq '.findings[]'

Exit codes: 0 all jobs are valid, 2 there is an error.)";

constexpr const char* plan_footer = R"(
Prints, as YAML, every object that the operator would create for each job, in order and each with its
reason, and then the job with its status. The names depend on the job's UID, which a server gives:
without one in the file they come from --uid, or from a UID of zeros.

With --at it goes on from a recorded state, as `signalbox explain` does: the status that is written
next, then each object, patch and deletion, by stages.

Examples:
  signalbox plan -f train.yaml
  signalbox plan -f train.yaml | kubectl apply --dry-run=server --validate=strict -f -
  kubectl get pj,pods,svc,secret,cm -o yaml | signalbox plan --at -)";

constexpr const char* explain_footer = R"(
Says in sentences what a job is doing and why, what it waits for, what happens next and when, and what
the operator does about it; each with the rule that it follows (`signalbox docs rule`). It reads a
recording, from which nothing is sent anywhere, or a job in a cluster; NAME may be KIND/NAME, with pj,
dj, caij or the kind.

Examples:
  signalbox explain mnist -n team-a
  kubectl get pj,pods,svc,secret,cm -o yaml > night.yaml
  signalbox explain -f night.yaml --now 2026-01-31T03:00:00Z
  signalbox explain -f night.yaml --output json | jq -r '.jobs[].lines[].sentence'

Exit codes: 0 explained, 2 the file or the cluster has no job, or cannot be read.)";

constexpr const char* wait_footer = R"(
Waits until a job of a cluster has come as far as is asked, and says how it stands. NAME may be
KIND/NAME, with pj, dj, caij or the kind. Completed means ended, well or not.

Examples:
  signalbox wait mnist && scp ...
  signalbox wait pj/mnist -n team-a --for Running --timeout 10m

Exit codes: 0 it has come there; 1 it cannot come there any more: it ended otherwise, or was deleted;
2 there is no such job, or the cluster cannot be asked; 3 the time is up.)";

constexpr const char* crds_footer = R"(
Examples:
  signalbox crds | kubectl apply --server-side -f -)";

constexpr const char* rbac_footer = R"(
A ClusterRole, or with -n a Role in each namespace, and what binds it to a service account; with
--leader-elect also the Role for the Lease. JSON is the list of rules, each with its feature.

Examples:
  signalbox rbac --leader-elect | kubectl apply -f -
  signalbox rbac -n team-a -n team-b --without ssh,gang)";

constexpr const char* docs_footer = R"(
Without more it prints the reference of all fields, as Markdown (libjobcore/API.md).

Examples:
  signalbox docs rule 5.8
  signalbox docs fields deepspeedjob.spec.config)";

constexpr const char* docs_rule_footer = R"(
Rules as `explain`, `plan`, events and comments name them, one or several:
  5.8, behaviour 5.8     what the operator does        libjobcore/BEHAVIOUR.md
  api 6.3                fields and their checks       libjobcore/BEHAVIOUR.md
  I7                     invariants                    libjobcore/BEHAVIOUR.md
  launch 2.5             facts about launchers         libjobcore/LAUNCH.md
  W3                     requirements of the client    libk8sio/REQUIREMENTS.md
A chapter (5, api 6, invariants) lists its rules, no number all chapters. A word holds for the numbers
after it; 5.2-5.4 are three.

Exit codes: 0 shown, 2 there is no such rule.)";

constexpr const char* docs_fields_footer = R"(
Like `kubectl explain`, without a cluster. FIELD is a kind, its plural or short name (dj, pj, caij),
and names of fields, joined by dots; they lead through the items of lists.

Examples:
  signalbox docs fields dj
  signalbox docs fields deepspeedjob.spec.config
  signalbox docs fields pj.spec.replicaSpecs.restartPolicy
  signalbox docs fields caij.spec --recursive

Exit codes: 0 shown, 2 there is no such field.)";

constexpr const char* run_footer = R"(
Finds the API server like kubectl: --kubeconfig, else the service account of the pod it runs in, else
$KUBECONFIG, else ~/.kube/config. It waits for the CRDs (`signalbox crds`). SIGTERM ends it cleanly.

Examples:
  signalbox run --kubeconfig ~/.kube/config --log-level debug
  signalbox run --policy restart_delay=100 --policy settle=200     # for tests
  signalbox run --leader-elect                                     # one of several replicas acts

Exit codes: 0 ended by a signal, 1 a part of it died, 2 refused, 4 the Lease was lost to another
replica or could not be renewed.

Keys of --policy, all in milliseconds but the counts:
  )";

constexpr const char* dev_footer = R"(
One process on this machine: an API server that keeps everything in memory, the operator, and pods
that are simulated. No cluster, no containers, no root, nothing leaves the loopback interface.
kubectl works against it: each instance writes a kubeconfig of its own, and removes it at the end.

Examples:
  signalbox dev                                        # then, elsewhere: kubectl apply -f train.yaml
  signalbox dev --apply train.yaml --until-finished    # 0 if all jobs succeed, 1 if not
  signalbox dev --apply train.yaml --scenario faults.yaml --speed 10

What a simulated pod does is said in a scenario file or in annotations `sim.signalbox.dev/...` of its
template: operator/src/pods/README.md.)";

constexpr const char* pods_footer = R"(
A simulated kubelet and scheduler for any API server, for tests and demonstrations: binds pods to
nodes that do not exist and lets them run, end and fail as a scenario or their annotations say.
NEVER point it at a cluster that has nodes.

Examples:
  signalbox pods --kubeconfig test.kubeconfig --scenario faults.yaml)";

void add_cluster(CLI::App& to, cluster_options& options) {
    to.add_option("--kubeconfig", options.kubeconfig, "Kubeconfig file of the API server")
        ->type_name("FILE");
    to.add_option("--context", options.context, "Context of the kubeconfig, if not the current one")
        ->type_name("NAME");
}

void add_log(CLI::App& to, log_options& options) {
    to.add_option("--log-level", options.level, "trace, debug, info, warning, error or off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
        ->type_name("LEVEL")
        ->capture_default_str();
    to.add_option("--log-format", options.format, "text, or json: one object per line")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT")
        ->capture_default_str();
}

void add_policy(CLI::App& to, std::vector<std::string>& overrides) {
    to.add_option("--policy", overrides, "Override a constant, in ms; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
}

void add_scope(CLI::App& to, scope_options& scope) {
    const auto add =
        [&to](const char* flag, std::vector<std::string>& into, const std::string& what) {
            return to.add_option(flag, into, what)->type_name("NAME")->allow_extra_args(false);
        };
    add("-n,--namespace", scope.namespaces, "Only this namespace; may be repeated; all if not given"
    );
    add("--without", scope.without, "Without a feature: " + feature_names())->delimiter(',');
    add("--kind", scope.kinds, "Only this kind of jobs: pj, dj, caij; may be repeated")
        ->delimiter(',');
}

void add_election(CLI::App& to, election_options& options) {
    const auto add = [&to](const char* name, std::string& into, const char* what, const char* of) {
        to.add_option(name, into, what)->type_name(of)->capture_default_str();
    };
    to.add_flag("--leader-elect", options.wanted, "Act only as the holder of a Lease");
    add("--leader-elect-lease-duration",
        options.lease_duration,
        "Others wait so long for a renewal",
        "TIME");
    add("--leader-elect-renew-deadline",
        options.renew_deadline,
        "So long after a renewal the leader gives up",
        "TIME");
    add("--leader-elect-retry-period", options.retry_period, "Between two tries", "TIME");
    add("--leader-elect-resource-name", options.name, "Name of the Lease", "NAME");
    to.add_option(
          "--leader-elect-resource-namespace", options.ns, "Its namespace; in a pod the pod's own"
    )
        ->type_name("NAME");
}

void add_output(CLI::App& to, output_format& format) {
    to.add_option("-o,--output", format, "text or json")
        ->transform(CLI::CheckedTransformer(std::map<std::string, output_format>{
            {"text", output_format::text}, {"json", output_format::json}}))
        ->option_text("FORMAT [text]");
}

/// Files by `-f` and without; at least one.
void add_files(CLI::App& to, std::vector<std::string>& files) {
    const auto add = [&files](const std::string& file) { files.push_back(file); };
    const char* what = "YAML or JSON, a folder of such, or - for standard input; may be repeated";
    to.add_option_function<std::string>("-f,--filename", add, what)
        ->type_name("FILE")
        ->trigger_on_parse();
    to.add_option_function<std::vector<std::string>>(
          "FILE",
          [&files](const std::vector<std::string>& more) {
              files.insert(files.end(), more.begin(), more.end());
          },
          "The same without -f"
    )
        ->type_name("");
    to.parse_complete_callback([&files] {
        if (files.empty()) {
            throw CLI::RequiredError("a FILE");
        }
    });
}

/// Says that there is no such command or option, and which is near, else which there are.
std::string unknown_word(
    std::string_view what, const std::string& word, const std::vector<std::string>& known
) {
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    const std::string_view near = core::nearest_name(word, candidates);
    return near.empty()
               ? fmt::format(
                     "there is no {} `{}`; there are: {}", what, word, fmt::join(known, ", ")
                 )
               : fmt::format("there is no {} `{}`; did you mean `{}`?", what, word, near);
}

/// The program: every command with its options, and what to call for each.
class program {
public:
    program(std::ostream& out, std::ostream& err) : out_(out), err_(err) {
        app_.description(overview);
        app_.footer(overview_footer);
        app_.require_subcommand(1);
        app_.add_flag_callback(
            "--version",
            [this] {
                version(out_);
                throw CLI::Success();
            },
            "Version and commit"
        );
        app_.get_formatter()->column_width(34);
        add_validate();
        add_plan();
        add_explain();
        add_wait();
        add_crds();
        add_rbac();
        add_docs();
        add_dev();
        add_run();
        add_pods();
        add("version", "Version and commit", [this] { return version(out_); });
    }

    int run(int argc, const char* const* argv) {
        dev_.program = argc > 0 ? argv[0] : "signalbox";
        const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
        try {
            app_.parse(argc, argv);
        } catch (const CLI::Success& asked) {
            return app_.exit(asked, out_, err_);
        } catch (const CLI::ParseError& error) {
            complain(error, words);
            return exit_refused;
        }
        return chosen_();
    }

private:
    CLI::App& add(const std::string& name, const std::string& what, std::function<int()> call) {
        return add_to(app_, name, what, std::move(call));
    }

    CLI::App& add_to(
        CLI::App& parent,
        const std::string& name,
        const std::string& what,
        std::function<int()> call
    ) {
        CLI::App& command = *parent.add_subcommand(name, what);
        // Called for the innermost command first.
        command.callback([this, call = std::move(call)] {
            if (!chosen_) {
                chosen_ = call;
            }
        });
        return command;
    }

    /// What is wrong in words of ours where CLI11 names no command and no option.
    std::string problem(
        CLI::App& about, const CLI::ParseError& error, const std::vector<std::string>& words
    ) {
        const std::vector<std::string> unknown = app_.remaining(true);
        const auto first = std::ranges::find_first_of(words, unknown);
        std::vector<std::string> commands;
        for (const CLI::App* c : about.get_subcommands([](const CLI::App*) { return true; })) {
            commands.push_back(c->get_name());
        }
        if (first == words.end()) {
            return about.get_parent() == nullptr && words.empty()
                       ? fmt::format("a command is missing: {}", fmt::join(commands, ", "))
                       : error.what();
        }
        if (!first->starts_with('-')) {
            return commands.empty() ? fmt::format("`{}` is not expected", *first)
                                    : unknown_word("command", *first, commands);
        }
        std::vector<std::string> options;
        for (const CLI::Option* o : about.get_options()) {
            for (const std::string& name : o->get_lnames()) {
                options.push_back("--" + name);
            }
        }
        const std::string option = first->substr(0, first->find('='));
        if (about.get_option_no_throw(option) != nullptr) {
            return fmt::format("`{}` belongs after the command", option);
        }
        return unknown_word("option", option, options);
    }

    void complain(const CLI::ParseError& error, const std::vector<std::string>& words) {
        std::string command = "signalbox";
        std::string parent;
        CLI::App* about = &app_;
        for (auto chosen = app_.get_subcommands(); !chosen.empty();) {
            about = chosen.front();
            parent = command;
            command += " " + about->get_name();
            chosen = about->get_subcommands();
        }
        fmt::print(err_, "{}: {}\n\n", command, problem(*about, error, words));
        const std::string help = about->help(parent);
        const std::size_t usage = help.find("Usage:");
        const std::string from_usage = usage == std::string::npos ? help : help.substr(usage);
        fmt::print(err_, "{}\n", from_usage.substr(0, from_usage.find('\n')));
        fmt::print(err_, "`{} --help` says more.\n", command);
    }

    void add_validate() {
        CLI::App& c = add("validate", "Check job files, offline", [this] {
            return validate(validate_, out_, err_);
        });
        c.footer(validate_footer);
        add_files(c, validate_.files);
        c.add_option(
             "--live", validate_.live, "What the cluster has, to check updates; may be repeated"
        )
            ->type_name("FILE")
            ->allow_extra_args(false);
        add_output(c, validate_.output);
    }

    void add_plan() {
        CLI::App& c = add("plan", "Show what the operator would do, offline", [this] {
            return plan_.at.empty() ? plan(plan_, out_, err_) : plan_at(plan_, out_, err_);
        });
        c.footer(plan_footer);
        add_files(c, plan_.files);
        CLI::Option* at = c.add_option("--at", plan_.at, "Recording to go on from; may be repeated")
                              ->type_name("FILE")
                              ->allow_extra_args(false);
        c.add_option("--uid", plan_.uid, "UID of the job, if the file has none")
            ->type_name("UID")
            ->excludes(at);
        c.add_option("-n,--namespace", plan_.ns, "Namespace, if the file has none")
            ->type_name("NAME")
            ->capture_default_str()
            ->excludes(at);
        c.add_option("--now", plan_.now, "The time that the status shows, or of the recording")
            ->type_name("TIME");
        c.add_flag(
             "--tensorboard-kind",
             plan_.tensorboard_kind,
             "As if the cluster served TensorStack's TensorBoard"
        )
            ->excludes(at);
        c.parse_complete_callback([this] {
            if (plan_.files.empty() == plan_.at.empty()) {
                throw CLI::RequiredError("either a FILE or --at FILE");
            }
        });
    }

    void add_explain() {
        CLI::App& c = add("explain", "Say what a job is doing, why, and what comes next", [this] {
            return explain(explain_, out_, err_);
        });
        c.footer(explain_footer);
        c.add_option("NAME", explain_.target, "A job in a cluster, NAME or KIND/NAME")
            ->type_name("");
        c.add_option(
             "-f,--filename", explain_.files, "Recording, YAML or JSON; - for standard input"
        )
            ->type_name("FILE")
            ->allow_extra_args(false);
        c.add_option("--now", explain_.now, "The time of the recording; the present if not given")
            ->type_name("TIME");
        add_output(c, explain_.output);
        c.add_option("-n,--namespace", explain_.ns, "Namespace; that of the context if not given")
            ->type_name("NAME");
        add_cluster(c, explain_.cluster);
    }

    void add_wait() {
        CLI::App& c = add("wait", "Wait for a job in a cluster", [this] {
            return wait_for_job(wait_, out_, err_);
        });
        c.footer(wait_footer);
        c.add_option("NAME", wait_.target, "The job, NAME or KIND/NAME")->type_name("")->required();
        c.add_option(
             "--for", wait_.condition, fmt::format("{}", fmt::join(wait_conditions(), ", "))
        )
            ->check(CLI::IsMember(wait_conditions(), CLI::ignore_case))
            ->option_text("CONDITION [Succeeded]");
        c.add_option("--timeout", wait_.timeout, "At most this long: 30s, 10m, 2h; 0 looks once")
            ->type_name("TIME")
            ->capture_default_str();
        c.add_option("-n,--namespace", wait_.ns, "Namespace; that of the context if not given")
            ->type_name("NAME");
        add_cluster(c, wait_.cluster);
    }

    void add_crds() {
        add("crds", "Print the CustomResourceDefinitions", [this] { return crds(out_); }
        ).footer(crds_footer);
    }

    void add_docs() {
        CLI::App& c = add("docs", "Show the rules and the fields of the API, offline", [this] {
            return docs(out_);
        });
        c.footer(docs_footer);
        c.require_subcommand(0, 1);
        CLI::App& rule =
            add_to(c, "rule", "Show rules that explanations and comments name", [this] {
                return docs_rule(docs_rule_, out_, err_);
            });
        rule.footer(docs_rule_footer);
        rule.add_option("RULE", docs_rule_.rules, "5.8, api 6.3, I7, launch 2.5, W3, a chapter")
            ->type_name("");
        CLI::App& fields = add_to(c, "fields", "Explain a field of a kind", [this] {
            return docs_fields(docs_fields_, out_, err_);
        });
        fields.footer(docs_fields_footer);
        fields.add_option("FIELD", docs_fields_.path, "E.g. deepspeedjob.spec.config")
            ->type_name("")
            ->required();
        fields.add_flag("--recursive", docs_fields_.recursive, "All fields below, as a tree");
    }

    void add_run() {
        CLI::App& c = add("run", "Run the operator against a cluster", [this] {
            return run_operator_command(run_, out_, err_);
        });
        c.footer(run_footer + policy_keys());
        add_cluster(c, run_.cluster);
        add_scope(c, run_.scope);
        add_election(c, run_.election);
        add_policy(c, run_.policy);
        add_log(c, run_.log);
    }

    void add_rbac() {
        CLI::App& c = add("rbac", "Print the roles that `run` with the same flags needs", [this] {
            return rbac(rbac_, out_, err_);
        });
        c.footer(rbac_footer);
        add_scope(c, rbac_.scope);
        add_election(c, rbac_.election);
        const auto text = [&c](const char* flag, std::string& into, const char* what) {
            c.add_option(flag, into, what)->type_name("NAME")->capture_default_str();
        };
        text("--name", rbac_.name, "Of the roles and bindings");
        text("--service-account", rbac_.account, "Who gets them");
        text("--service-account-namespace", rbac_.account_ns, "The operator's own namespace");
        add_output(c, rbac_.output);
    }

    void add_dev() {
        CLI::App& c = add("dev", "Try jobs on this machine, without a cluster", [this] {
            return dev(dev_, out_, err_);
        });
        c.footer(dev_footer);
        c.add_option("--apply", dev_.files, "Apply what is in this file; may be repeated")
            ->type_name("FILE");
        c.add_flag("--until-finished", dev_.until_finished, "End when all applied jobs have ended");
        c.add_option("--scenario", dev_.scenario, "What the simulated pods do")->type_name("FILE");
        c.add_option("--speed", dev_.speed, "Simulated pods live this many times as fast")
            ->check(CLI::Range(0.01, 10000.0))
            ->type_name("FACTOR")
            ->capture_default_str();
        c.add_option("--listen", dev_.listen, "Where kubectl reaches the API server; port 0: any")
            ->type_name("ADDR:PORT")
            ->capture_default_str();
        c.add_option("--kubeconfig", dev_.kubeconfig, "Where to write the kubeconfig")
            ->type_name("FILE");
        c.add_option("-n,--namespace", dev_.ns, "Namespace of applied objects that name none")
            ->type_name("NAME")
            ->capture_default_str();
        add_policy(c, dev_.policy);
        add_log(c, dev_.log);
    }

    void add_pods() {
        CLI::App& c =
            add("pods", "Simulate nodes and pods for any API server (tests, demos)", [this] {
                return pods_command(pods_, out_, err_);
            });
        c.footer(pods_footer);
        add_cluster(c, pods_.cluster);
        c.add_option("-n,--namespace", pods_.ns, "Only this namespace; all if not given")
            ->type_name("NAME");
        c.add_option("-l,--selector", pods_.selector, "Only pods with these labels")
            ->type_name("SELECTOR");
        c.add_option("--scenario", pods_.scenario, "What the pods do")->type_name("FILE");
        c.add_option("--speed", pods_.speed, "Pods live this many times as fast")
            ->check(CLI::Range(0.01, 10000.0))
            ->type_name("FACTOR")
            ->capture_default_str();
        c.add_option("--nodes", pods_.nodes, "Number of simulated nodes")
            ->check(CLI::Range(1, 5000))
            ->type_name("N")
            ->capture_default_str();
        c.add_flag("--create-nodes", pods_.create_nodes, "Create the Node objects too");
    }

    std::ostream& out_;
    std::ostream& err_;
    CLI::App app_{"", "signalbox"};
    std::function<int()> chosen_;
    validate_options validate_;
    plan_options plan_;
    explain_options explain_;
    wait_options wait_;
    docs_rule_options docs_rule_;
    docs_fields_options docs_fields_;
    run_options run_;
    rbac_options rbac_;
    dev_options dev_;
    pods_options pods_;
};

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
    return program(out, err).run(argc, argv);
}

}  // namespace signalbox::op::cli
