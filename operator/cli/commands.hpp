// SPDX-License-Identifier: Apache-2.0
//
// The commands and what can be said to each. Every function gives the exit code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace signalbox::op::cli {

enum class output_format { text, json };

struct cluster_options {
    std::string kubeconfig;  ///< empty: $KUBECONFIG, or the service account in a cluster
    std::string context;
};

struct init_options {
    std::string kind;             ///< a starter's name; empty: the usual one
    std::string file;             ///< `-`: standard output; empty: `<kind>.yaml`
    bool file_by_option = false;  ///< `file` is what stands behind `-o`
    bool force = false;           ///< write over a file that is there
};
int init(const init_options& options, std::ostream& out, std::ostream& err);

struct validate_options {
    std::vector<std::string> files;
    std::vector<std::string> live;  ///< what the cluster has, for checks as updates
    output_format output = output_format::text;
    bool strict = false;  ///< warnings count as errors
};
int validate(const validate_options& options, std::ostream& out, std::ostream& err);

struct plan_options {
    std::vector<std::string> files;
    std::string uid;
    std::string ns = "default";
    std::string now;                ///< RFC 3339; empty: the epoch, with `at` the present time
    bool tensorboard_kind = false;  ///< the cluster serves TensorStack's TensorBoard
    std::string default_scheduler;  ///< as of `run`
    /// Schedulers of gangs whose objects the cluster serves; none: all.
    std::vector<std::string> schedulers;
    std::vector<std::string> at;  ///< a recording, in place of `files`
};
int plan(const plan_options& options, std::ostream& out, std::ostream& err);
int plan_at(const plan_options& options, std::ostream& out, std::ostream& err);

/// Times as texts that parse_duration() understands.
struct simulate_options {
    std::vector<std::string> files;
    std::string training_time;
    std::string checkpoint_every = "never";
    std::string checkpoint_takes = "0s";
    std::string start_takes = "1m";
    std::string node_mtbf = "never";
    std::string program_mtbf = "never";
    std::string limit = "365d";
    std::uint64_t runs = 200;
    std::uint64_t seed = 1;
    std::vector<std::string> policy;  ///< `key=milliseconds`
    output_format output = output_format::text;
};
int simulate(const simulate_options& options, std::ostream& out, std::ostream& err);

struct explain_options {
    std::vector<std::string> files;  ///< a recording; else `target` is read from a cluster
    std::string target;              ///< `NAME` or `KIND/NAME`; empty: all of a recording
    cluster_options cluster;
    std::string ns;   ///< empty: that of the context, or any of a recording
    std::string now;  ///< of a recording, RFC 3339; empty: the present time
    output_format output = output_format::text;
    bool all = false;  ///< on a terminal too nothing is folded
};
int explain(const explain_options& options, std::ostream& out, std::ostream& err);

struct test_options {
    std::vector<std::string> files;
    bool whole_operator = false;  ///< on the embedded API server, in place of the engine alone
    bool update = false;          ///< write what was found into the files
    bool tap = false;
    std::string junit;   ///< file; empty: none
    std::string record;  ///< a recording, of which a story is to be made
    std::string now;     ///< of that, RFC 3339; empty: the present time
};
int test_stories(const test_options& options, std::ostream& out, std::ostream& err);

struct wait_options {
    std::string target;                   ///< `NAME` or `KIND/NAME`
    std::string condition = "Succeeded";  ///< one of wait_conditions(), in any letter case
    std::string timeout = "never";
    cluster_options cluster;
    std::string ns;  ///< empty: that of the context
};
int wait_for_job(const wait_options& options, std::ostream& out, std::ostream& err);
/// What can be waited for.
std::vector<std::string> wait_conditions();

/// A job of a cluster.
struct job_options {
    std::string target;  ///< `NAME` or `KIND/NAME`
    cluster_options cluster;
    std::string ns;  ///< empty: that of the context
};
int pause_job(const job_options& options, std::ostream& out, std::ostream& err);
int resume_job(const job_options& options, std::ostream& out, std::ostream& err);

struct scale_options {
    job_options job;
    std::int32_t replicas = 0;
};
int scale_job(const scale_options& options, std::ostream& out, std::ostream& err);

struct logs_options {
    job_options job;
    bool follow = false;
    bool previous = false;
    bool timestamps = false;
    std::int64_t tail = -1;      ///< lines of each; negative: all
    std::string since;           ///< `10m`; empty: from the beginning
    std::int64_t attempt = 0;    ///< 0: all whose pods are there
    std::string type;            ///< of replicas; empty: all
    std::string indexes;         ///< `0-3,7`; empty: all
    std::string container;       ///< empty: the training container
    std::size_t most_pods = 64;  ///< that are read at a time
    bool cause = false;          ///< only why the job failed
};
int logs(const logs_options& options, std::ostream& out, std::ostream& err);

struct top_options {
    cluster_options cluster;
    std::string ns;  ///< empty: that of the context
    bool all_namespaces = false;
    std::string selector;
    bool once = false;
};
int top(const top_options& options, std::ostream& out, std::ostream& err);

enum class report_format { text, json, html };

struct report_options {
    std::vector<std::string> files;  ///< a recording; else jobs are read from a cluster
    std::string target;              ///< `NAME` or `KIND/NAME`; empty: all
    cluster_options cluster;
    std::string ns;  ///< empty: that of the context
    bool all_namespaces = false;
    std::string selector;
    std::string since;  ///< `7d`: jobs that ended before are left out; empty: all
    std::string now;    ///< of a recording, RFC 3339; empty: the present time
    report_format output = report_format::text;
};
int report_jobs(const report_options& options, std::ostream& out, std::ostream& err);

int crds(std::ostream& out);

int docs(std::ostream& out);

struct docs_rule_options {
    std::vector<std::string> rules;  ///< `5.8`, `api 6.3`, `I7` ...; none: a table of contents
};
int docs_rule(const docs_rule_options& options, std::ostream& out, std::ostream& err);

struct docs_fields_options {
    std::string path;  ///< `deepspeedjob.spec.config`
    bool recursive = false;
};
int docs_fields(const docs_fields_options& options, std::ostream& out, std::ostream& err);

int version(std::ostream& out);

struct log_options {
    std::string level = "info";
    std::string format = "text";
};

/// As kube-controller-manager has it.
struct election_options {
    bool wanted = false;
    std::string lease_duration = "15s";
    std::string renew_deadline = "10s";
    std::string retry_period = "2s";
    std::string name = "signalbox";
    std::string ns;  ///< empty: that of the pod it runs in
};

/// What is served. Texts as given; read_scope() understands them.
struct scope_options {
    std::vector<std::string> namespaces;  ///< none: all
    std::vector<std::string> without;     ///< features
    std::vector<std::string> with;        ///< features that have to be asked for
    std::vector<std::string> kinds;       ///< of jobs; none: all
    std::vector<std::string> schedulers;  ///< of gangs, that have to be asked for
};

/// Addresses as controller-runtime takes them: `0` is none.
struct monitoring_options {
    std::string metrics_address = "0";
    std::string health_address = "0";
    std::string tls_cert_file;
    std::string tls_key_file;
    std::string token_file;
    bool single_jobs = false;  ///< metrics have series of single jobs
};

/// The receiver of reports of progress. `0` is none.
struct progress_options {
    std::string address = "0";
    std::string tls_cert_file;
    std::string tls_key_file;
    std::string ca_file;  ///< what pods trust; empty: the certificate itself
    std::string url;      ///< by which pods reach it
    /// The Service whose EndpointSlice the leader writes; empty: it has a selector.
    std::string endpoints;
    bool of_all_jobs = false;  ///< also attempts of jobs that do not ask for it
};

struct run_options {
    cluster_options cluster;
    election_options election;
    monitoring_options monitoring;
    progress_options progress;
    log_options log;
    scope_options scope;
    std::string default_scheduler;    ///< of jobs that name none; empty: the cluster's own
    std::vector<std::string> policy;  ///< `key=milliseconds`
};
int run_operator_command(const run_options& options, std::ostream& out, std::ostream& err);

struct rbac_options {
    scope_options scope;
    election_options election;
    std::string name = "signalbox";  ///< of the roles
    std::string account = "signalbox";
    std::string account_ns = "signalbox-system";
    output_format output = output_format::text;
};
int rbac(const rbac_options& options, std::ostream& out, std::ostream& err);

}  // namespace signalbox::op::cli
