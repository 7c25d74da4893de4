// SPDX-License-Identifier: Apache-2.0
//
// The commands that need no cluster.
#include "cli/commands.hpp"
#include "cli/tree/registry.hpp"
#include "cli/tree/shared_options.hpp"

namespace signalbox::op::cli {

namespace {

constexpr const char* init_footer = R"(
Writes a manifest with comments, which runs as it stands: a rehearsal with `signalbox dev`, on this
machine with `--pods process`, on a cluster. KIND is pytorch (the default), torchrun, deepspeed or
colossalai; FILE is KIND.yaml in this folder if not given. A file that is there stays as it is.

Examples:
  signalbox init torchrun && signalbox validate --strict torchrun.yaml
  signalbox init deepspeed jobs/llama.yaml
  signalbox init pytorch -o | kubectl apply -f -

Exit codes: 0 written, 2 no such kind, or the file cannot be written.)";

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

Exit codes: 0 all jobs are valid, 2 there is an error, or with --strict a warning.)";

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

constexpr const char* simulate_footer = R"(
Runs the job many times, in virtual time, by the decisions of the real engine: its restarts, delays,
budgets and deadlines are those of a cluster. Nodes and programs of its pods fail by chance, each
independently of the others. Training goes on while all pods run, and goes back to the last checkpoint
when one fails. Times are such as 90s, 10m, 2h, 7d. Queues are not simulated: pods start as soon as
they are made. Run n has the seed SEED + n; equal seeds give equal runs on every machine.

Examples:
  signalbox simulate -f train.yaml --training-time 14d --node-mtbf 300d --checkpoint-every 1h
  signalbox simulate -f train.yaml --training-time 14d --node-mtbf 300d --program-mtbf 60d \
      --checkpoint-every 30m --checkpoint-takes 1m --start-takes 5m --runs 1000 -o json

Exit codes: 0 simulated, whatever came of it, 2 there is an error in a file or an option.)";

constexpr const char* explain_footer = R"(
Says in sentences what a job is doing and why, what it waits for, what happens next and when, and what
the operator does about it; each with the rule that it follows (`signalbox docs rule`). It reads a
recording, from which nothing is sent anywhere, or a job in a cluster; NAME may be KIND/NAME, with pj,
dj, caij or the kind.

Examples:
  signalbox explain mnist -n team-a
  kubectl get pj,pods,svc,secret,cm -o yaml > night.yaml
  signalbox explain -f night.yaml --now 2026-01-31T03:00:00Z
  signalbox explain mnist -f night.yaml
  signalbox explain -f night.yaml --output json | jq -r '.jobs[].lines[].sentence'

Exit codes: 0 explained, 2 the file or the cluster has no job, or cannot be read.)";

constexpr const char* crds_footer = R"(
Examples:
  signalbox crds | kubectl apply --server-side -f -)";

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

void add_init(command_tree& tree) {
    auto [c, options] =
        tree.add(tree.root(), "init", "Write a first manifest, to be changed", init_footer, &init);
    init_options& to = options;
    c.add_option("KIND", to.kind, "pytorch, torchrun, deepspeed or colossalai")->type_name("");
    c.add_option("FILE", to.file, "Where to write it; - for standard output")->type_name("");
    c.add_option_function<std::string>(
         "-o,--output",
         [&to](const std::string& file) {
             to.file = file;
             to.file_by_option = true;
         },
         "The same; without FILE to standard output"
    )
        ->expected(0, 1)
        ->default_str("-")
        ->type_name("[FILE]")
        ->option_text("[FILE]")
        ->trigger_on_parse();
    c.add_flag("--force", to.force, "Write over a file that is there");
}

void add_validate(command_tree& tree) {
    auto [c, options] =
        tree.add(tree.root(), "validate", "Check job files, offline", validate_footer, &validate);
    add_files(c, options.files);
    c.add_option("--live", options.live, "What the cluster has, to check updates; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    c.add_flag("--strict", options.strict, "Exit with 2 for warnings too, as of a misspelt field");
    add_output(c, options.output);
}

int plan_or_plan_at(const plan_options& options, std::ostream& out, std::ostream& err) {
    return options.at.empty() ? plan(options, out, err) : plan_at(options, out, err);
}

void add_plan(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(),
        "plan",
        "Show what the operator would do, offline",
        plan_footer,
        &plan_or_plan_at
    );
    add_files(c, options.files);
    CLI::Option* at = c.add_option("--at", options.at, "Recording to go on from; may be repeated")
                          ->type_name("FILE")
                          ->allow_extra_args(false);
    c.add_option("--uid", options.uid, "UID of the job, if the file has none")
        ->type_name("UID")
        ->excludes(at);
    c.add_option("-n,--namespace", options.ns, "Namespace, if the file has none")
        ->type_name("NAME")
        ->capture_default_str()
        ->excludes(at);
    c.add_option("--now", options.now, "The time that the status shows, or of the recording")
        ->type_name("TIME");
    c.add_flag(
         "--tensorboard-kind",
         options.tensorboard_kind,
         "As if the cluster served TensorStack's TensorBoard"
    )
        ->excludes(at);
    add_default_scheduler(c, options.default_scheduler);
    c.add_option(
         "--scheduler",
         options.schedulers,
         "The cluster has this scheduler of gangs; may be repeated; all if not given"
    )
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->excludes(at);
    c.parse_complete_callback([&read = options] {
        if (read.files.empty() == read.at.empty()) {
            throw CLI::RequiredError("either a FILE or --at FILE");
        }
    });
}

void add_simulate(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(),
        "simulate",
        "Tell how long a job trains when nodes and programs fail, offline",
        simulate_footer,
        &simulate
    );
    const auto time = [&c = c](const char* name, std::string& to, const char* what) {
        return c.add_option(name, to, what)->type_name("TIME")->capture_default_str();
    };
    add_files(c, options.files);
    time("--training-time", options.training_time, "What training takes if nothing fails")
        ->required();
    time("--checkpoint-every", options.checkpoint_every, "Work between two checkpoints");
    time("--checkpoint-takes", options.checkpoint_takes, "What a checkpoint takes");
    time("--start-takes", options.start_takes, "From the creation of a pod until it trains");
    time("--node-mtbf", options.node_mtbf, "Mean time until the node of a pod is lost");
    time("--program-mtbf", options.program_mtbf, "Mean time until the program of a pod fails");
    time("--limit", options.limit, "After which a run is given up");
    c.add_option("--runs", options.runs, "How often the job is run")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    c.add_option("--seed", options.seed, "Of the first run")->capture_default_str();
    add_policy(c, options.policy);
    add_output(c, options.output);
}

void add_explain(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(),
        "explain",
        "Say what a job is doing, why, and what comes next",
        explain_footer,
        &explain
    );
    c.add_option(
         "NAME", options.target, "The job, NAME or KIND/NAME; all of a recording if not given"
    )
        ->type_name("");
    c.add_option("-f,--filename", options.files, "Recording, YAML or JSON; - for standard input")
        ->type_name("FILE")
        ->allow_extra_args(false);
    c.add_option("--now", options.now, "The time of the recording; the present if not given")
        ->type_name("TIME");
    c.add_flag("--all", options.all, "Fold nothing: on a terminal long lists are cut short");
    add_output(c, options.output);
    add_namespace(c, options.ns, context_namespace);
    add_cluster(c, options.cluster, c.get_option("--filename"));
}

void add_crds(command_tree& tree) {
    tree.add(
        tree.root(),
        "crds",
        "Print the CustomResourceDefinitions",
        crds_footer,
        [](std::ostream& out, std::ostream&) { return crds(out); }
    );
}

void add_docs(command_tree& tree) {
    CLI::App& c = tree.add(
        tree.root(),
        "docs",
        "Show the rules and the fields of the API, offline",
        docs_footer,
        [](std::ostream& out, std::ostream&) { return docs(out); }
    );
    c.require_subcommand(0, 1);
    auto [rule, rule_options] = tree.add(
        c, "rule", "Show rules that explanations and comments name", docs_rule_footer, &docs_rule
    );
    rule.add_option("RULE", rule_options.rules, "5.8, api 6.3, I7, launch 2.5, W3, a chapter")
        ->type_name("");
    auto [fields, fields_options] =
        tree.add(c, "fields", "Explain a field of a kind", docs_fields_footer, &docs_fields);
    fields.add_option("FIELD", fields_options.path, "E.g. deepspeedjob.spec.config")
        ->type_name("")
        ->required();
    fields.add_flag("--recursive", fields_options.recursive, "All fields below, as a tree");
}

const registered_command offline_commands[] = {
    {"validate", 10, &add_validate, {{overview_part::without_cluster, 10}}},
    {"plan", 20, &add_plan, {{overview_part::without_cluster, 20}}},
    {"explain",
     30,
     &add_explain,
     {{overview_part::without_cluster, 30}, {overview_part::with_cluster, 50}}},
    {"simulate", 35, &add_simulate, {{overview_part::without_cluster, 35}}},
    {"crds", 40, &add_crds, {{overview_part::with_cluster, 10}}},
    {"docs", 50, &add_docs, {{overview_part::without_cluster, 40}}},
    {"init", 55, &add_init, {{overview_part::without_cluster, 5}}},
};

}  // namespace

}  // namespace signalbox::op::cli
