// SPDX-License-Identifier: Apache-2.0
#include "launch/bootstrap.hpp"

namespace signalbox::core::launch {

// clang-format off
const std::string_view bootstrap_script = R"bootstrap(#!/bin/sh
# Begins a pod of a job whose launcher uses ssh. Usage: bootstrap.sh worker|launcher|idle
#
# worker    becomes sshd.
# idle      does nothing, for launches by hand.
# launcher  waits until every worker answers, then runs the program of run.sh as a child.
#
# Exit codes of its own: 64 the image or the pod lacks something, 66 the autotuner left no result, 75
# workers did not answer in time.
# The reason goes to the termination message, with the prefix "signalbox: ".
# All variables begin with sb_: the user's environment must reach the program unchanged.
set -u
sb_here=${0%/*}
. "$sb_here/settings.sh"
sb_newline='
'

sb_fail() { # code, message
    printf 'signalbox: %s\n' "$2" >&2
    { printf 'signalbox: %s\n' "$2" >"$sb_termination_log"; } 2>/dev/null
    exit "$1"
}

sb_need() { # programs
    for sb_tool in "$@"; do
        command -v "$sb_tool" >/dev/null 2>&1 ||
            sb_fail 64 "the image has no program $sb_tool (PATH is $PATH)"
    done
}

# Sets sb_value to the value of a variable; false if it is not set or has no shell name.
sb_value_of() { # name
    case $1 in '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) return 1 ;; esac
    eval "[ -n \"\${$1+set}\" ]" || return 1
    eval "sb_value=\$$1"
}

# By bytes: in some locales [A-Z] lacks letters, and in all of UTF-8 a value may have bytes that . does
# not match.
sb_all_names() {
    env | LC_ALL=C sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'
}

# Names that a session on this pod takes from the container: all that are exported, but for those that
# describe the process that has them, or that a shell does not let go.
sb_session_names() {
    case $sb_session_env in
        all)
            sb_all_names | grep -v -x -E \
                'sb_.*|SSH_.*|BASH.*|_|DIRSTACK|EUID|FUNCNAME|GROUPS|IFS|LINENO|OLDPWD|OPT(ARG|ERR|IND)|PIPESTATUS|PPID|PS[1-4]|PWD|RANDOM|SECONDS|SHELL|SHELLOPTS|SHLVL|TERM|UID' ;;
        *) sb_all_names | grep -x -E \
            'PATH|LD_LIBRARY_PATH|LIBRARY_PATH|PYTHONPATH|CUDA_HOME|NVIDIA_.*' ;;
    esac
}

# The variables of the names on standard input as lines of shell, byte for byte.
sb_assignments() {
    sort -u | while read -r sb_name; do
        sb_value_of "$sb_name" || continue
        sb_quoted=''
        while :; do
            case $sb_value in *\'*) ;; *) break ;; esac
            sb_quoted="$sb_quoted${sb_value%%\'*}'\\''"
            sb_value=${sb_value#*\'}
        done
        printf "export %s='%s%s'\n" "$sb_name" "$sb_quoted" "$sb_value"
    done
}

# sshd passes nothing of its environment on: what it runs, whatever it is asked for, is this file, which
# begins with the container's environment.
sb_write_session() {
    sb_session_names | sb_assignments
    cat <<'END'
sb_command=${SSH_ORIGINAL_COMMAND-}
unset SSH_ORIGINAL_COMMAND
export SHLVL=2 # or bash would read its start-up file once more, after this one
[ -n "$sb_command" ] || exec "${SHELL:-/bin/sh}"
exec "${SHELL:-/bin/sh}" -c "$sb_command"
END
}

# StrictModes no: the root of a Secret volume is writable by all, and sshd would refuse the keys.
sb_write_sshd_config() {
    cat <<END
Port $sb_port
HostKey $sb_ssh_dir/ssh_host_key
AuthorizedKeysFile $sb_ssh_dir/authorized_keys
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
PidFile none
MaxStartups 200:30:400
ClientAliveInterval 30
ForceCommand /bin/sh $sb_run_dir/session
END
}

# The account that ssh and sshd go by. Without one both refuse; sshd runs every command by its shell.
sb_find_account() {
    sb_user=$(id -u) sb_account='' sb_login_shell=''
    while IFS=: read -r sb_name sb_x sb_id sb_x sb_x sb_dir sb_program; do
        if [ "$sb_id" = "$sb_user" ]; then
            sb_account=$sb_name sb_home=$sb_dir sb_login_shell=$sb_program
            break
        fi
    done </etc/passwd
    [ -n "$sb_account" ] || ! id -un >/dev/null 2>&1 || return 0 # of another source than the file
    [ -n "$sb_account" ] || sb_fail 64 "user $sb_user has no passwd entry, sshd will refuse it"
    case $sb_login_shell in
        */nologin | */false)
            sb_fail 64 "user $sb_account may not log in ($sb_login_shell), sshd will refuse it" ;;
    esac
    [ -x "${sb_login_shell:-/bin/sh}" ] ||
        sb_fail 64 "the image has no $sb_login_shell, the shell of user $sb_account, by which sshd runs every command"
}

# The launchers and pdsh call ssh without naming a configuration: it has to lie in the user's home.
# ssh takes the home of the account, Python that of the environment. Where neither can be written, pdsh
# is told, and Python gets a home that can.
sb_link_ssh_config() {
    for sb_dir in "${HOME:-}" "${sb_home:-}"; do
        case $sb_dir in '' | "${sb_ssh_dir%/.ssh}") continue ;; esac
        sb_copy_ssh_config "$sb_dir" && continue
        sb_copy_ssh_config "$sb_run_dir/home" ||
            sb_fail 64 "cannot write $sb_run_dir/home/.ssh/config, which ssh needs to find the job's keys"
        PDSH_SSH_ARGS_APPEND="-F $sb_ssh_dir/config ${PDSH_SSH_ARGS_APPEND:-}" HOME=$sb_run_dir/home
        export PDSH_SSH_ARGS_APPEND HOME
        return 0
    done
}

sb_copy_ssh_config() { # home
    {
        mkdir -p "$1/.ssh" && chmod 700 "$1/.ssh" && cp "$sb_ssh_dir/config" "$1/.ssh/config" &&
            chmod 600 "$1/.ssh/config"
    } 2>/dev/null
}

# Another user than root cannot read root's keys, but where a user namespace made them his own; and ssh refuses keys that others may read: copies of
# the user's own.
sb_own_keys() {
    (
        umask 077
        mkdir -p "$sb_run_dir/ssh" && cp "$sb_key_dir/"* "$sb_run_dir/ssh/" &&
            sed "s|$sb_ssh_dir/|$sb_run_dir/ssh/|" "$sb_key_dir/config" >"$sb_run_dir/ssh/config"
    ) 2>/dev/null || sb_fail 64 "cannot copy the keys from $sb_key_dir to $sb_run_dir/ssh"
    sb_ssh_dir=$sb_run_dir/ssh
}

sb_prepare_ssh() {
    sb_need cat chmod cp date env grep head id mkdir mv sed sleep sort ssh tail tr
    sb_find_account
    [ -r "$sb_ssh_dir/ssh_host_key" ] || sb_own_keys
    # Keys that can be read lie in root's home, which need not be that of the user.
    [ "$sb_link_config" = no ] && [ "$sb_ssh_dir" = "${sb_home:-${sb_ssh_dir%/.ssh}}/.ssh" ] || sb_link_ssh_config
}

# Before anything else changes the environment.
sb_keep_environment() {
    sb_need cat env grep mkdir sed sort # or what is missing would look like a folder that cannot be written
    (umask 077 && sb_write_session >"$sb_run_dir/session") 2>/dev/null ||
        sb_fail 64 "cannot write $sb_run_dir/session"
}

sb_prepare_sshd() {
    sb_sshd_program=$sb_sshd
    [ -x "$sb_sshd_program" ] || sb_sshd_program=$(command -v sshd) ||
        sb_fail 64 "the image has no $sb_sshd (package openssh-server)"
    if [ "$(id -u)" = 0 ]; then # sshd run by root insists on these
        ! grep -q -s deny /proc/self/setgroups ||
            sb_fail 64 "sshd cannot run as root in a user namespace without other users: leave out runAsUser: 0"
        mkdir -p /run/sshd && chmod 755 /run/sshd
    fi
    (umask 077 && sb_write_sshd_config >"$sb_run_dir/sshd_config") ||
        sb_fail 64 "cannot write $sb_run_dir/sshd_config"
}

# sshd beside the launcher. Its probes and sessions would fill the log of the training.
sb_start_sshd() {
    {
        "$sb_sshd_program" -D -e -f "$sb_run_dir/sshd_config" >"$sb_run_dir/sshd.log" 2>&1 &
        echo $! >"$sb_run_dir/sshd.pid"
        wait $!
        echo $? >"$sb_run_dir/sshd.exit"
    } &
    # Who stops it needs its number: a launcher may end before that is written.
    until [ -s "$sb_run_dir/sshd.pid" ]; do :; done
}

sb_stop_sshd() {
    [ ! -s "$sb_run_dir/sshd.pid" ] || kill -s TERM "$(cat "$sb_run_dir/sshd.pid")" 2>/dev/null
}

# DeepSpeed's environment file. It goes through a shell, and how it is quoted differs from version
# to version: only plain values (the session has the rest), and a doubled % for pdsh.
sb_write_launcher_env() {
    [ -n "$sb_env_file" ] || return 0
    while read -r sb_name; do
        sb_value_of "$sb_name" || continue
        case $sb_value in '' | *[!A-Za-z0-9_@%+=:,./-]*) continue ;; esac
        printf '%s=%s\n' "$sb_name" "$(printf '%s\n' "$sb_value" | sed 's/%/%%/g')"
    done <"$sb_here/env-shared" >"$sb_env_file"
    # Naming a file makes DeepSpeed overlook the user's own. A line without = would end it.
    if [ -f "${HOME:-}/.deepspeed_env" ]; then
        grep '^[^=][^=]*=' "$HOME/.deepspeed_env" >>"$sb_env_file"
    fi
    return 0
}

# What a worker is asked to do before a launch and after a broken one: ranks of an earlier launcher
# are told to end. KILL would leave them: it is the node's launcher that ends its ranks. By standard
# input, so that the pattern stands in no command line.
sb_sweep_script() {
    cat <<END
command -v pkill >/dev/null 2>&1 || exit 0
pkill -TERM -f '$sb_sweep_pattern' || exit 0
sb_i=0
while [ \$sb_i -lt 35 ] && pgrep -f '$sb_sweep_pattern' >/dev/null; do
    sleep 1
    sb_i=\$((sb_i + 1))
done
exit 0
END
}

# The options replace those of the configuration: one address that does not answer yet must not hold
# up the others.
sb_ask() { # host, script on standard input
    ssh -F "$sb_ssh_dir/config" -o BatchMode=yes -o ConnectionAttempts=1 -o ConnectTimeout=3 \
        "$1" /bin/sh -s >/dev/null 2>"$sb_run_dir/said.$1"
}

# Sweeps the hosts of a file, 16 at a time. Those that did not answer are in $sb_run_dir/silent.
sb_visit() { # file
    : >"$sb_run_dir/silent"
    sb_pids='' sb_count=0
    # shellcheck disable=SC2034 # only the name is of interest
    while read -r sb_host sb_slots; do
        [ -n "$sb_host" ] || continue
        { sb_sweep_script | sb_ask "$sb_host" || echo "$sb_host" >>"$sb_run_dir/silent"; } &
        sb_pids="$sb_pids $!" sb_count=$((sb_count + 1))
        if [ "$sb_count" = 16 ]; then
            # shellcheck disable=SC2086 # a list
            wait $sb_pids
            sb_pids='' sb_count=0
        fi
    done <"$1"
    # shellcheck disable=SC2086
    [ -z "$sb_pids" ] || wait $sb_pids
}

sb_wait_for_workers() {
    [ "$sb_wait_timeout" != off ] || return 0
    sb_deadline=$(($(date +%s) + sb_wait_timeout))
    cp "$sb_here/hostfile" "$sb_run_dir/awaited"
    echo "signalbox: waiting for sshd on $(grep -c . "$sb_run_dir/awaited") workers"
    while :; do
        sb_visit "$sb_run_dir/awaited"
        [ -s "$sb_run_dir/silent" ] || break
        if [ -f "$sb_run_dir/sshd.exit" ]; then
            sb_fail 64 "sshd ended with code $(cat "$sb_run_dir/sshd.exit"): $(
                tail -n 3 "$sb_run_dir/sshd.log"
            )"
        fi
        if [ "$(date +%s)" -ge "$sb_deadline" ]; then
            sb_fail 75 "no answer within $sb_wait_timeout s from sshd on: $(
                sort "$sb_run_dir/silent" | head -n 20 | tr '\n' ' '
            )($(grep -c . "$sb_run_dir/silent") workers). ssh: $(
                tail -q -n 1 "$sb_run_dir/said.$(sort "$sb_run_dir/silent" | head -n 1)"
            )"
        fi
        mv "$sb_run_dir/silent" "$sb_run_dir/awaited"
        sleep 1
    done
    echo "signalbox: all workers answer"
}

# The launcher changes to its own directory on every worker.
sb_check_directory() {
    [ "$sb_same_directory" = yes ] || return 0
    # shellcheck disable=SC2034
    read -r sb_host sb_slots <"$sb_here/hostfile"
    sb_quoted=$(pwd | sed "s/'/'\\\\''/g")
    echo "cd '$sb_quoted'" | sb_ask "$sb_host" ||
        sb_fail 64 "the launcher's working directory $(pwd) does not exist on $sb_host"
}

# pdsh refuses to load its modules from a directory that somebody else could have written.
sb_check_pdsh() {
    [ "$sb_need_pdsh" = yes ] || return 0
    sb_need pdsh
    case $(pdsh -V 2>&1) in
        *insecure*)
            sb_fail 64 "pdsh calls its modules insecure: the image needs chown root:root /usr/lib" ;;
    esac
}

# ColossalAI exports the launcher's environment on every worker, in double quotes and unescaped, and
# fails on a name that is none to a shell. What belongs to this pod alone must not go there.
sb_escape_environment() {
    for sb_name in $(sb_all_names); do
        sb_value_of "$sb_name" || continue
        case $sb_value in
            *"$sb_newline"*) ;;
            *[\\\"\$\`]*)
                sb_value=$(printf '%s\n' "$sb_value" | sed 's/[\\"$`]/\\&/g')
                eval "$sb_name=\$sb_value" && export "${sb_name?}" ;;
        esac
    done
}

# Names that the launcher must not hand on to the workers, one per line.
sb_hidden_names() {
    case $sb_exports in
        all)
            env | LC_ALL=C sed -n 's/^\([^=]*\)=.*/\1/p' | LC_ALL=C grep -x -E \
                'HOSTNAME|(KUBERNETES|SSH)_.*|UID|EUID|PPID|BASHOPTS|SHELLOPTS|[^A-Za-z_].*|.*[^A-Za-z0-9_].*' ;;
        some) # DeepSpeed, and quoted by no rule that holds for all versions: the session has them
            for sb_name in $(sb_all_names | grep -E '^(MLFLOW|MV2|NCCL|PYTHON|UCX)'); do
                [ "$sb_name" != PYTHONPATH ] && sb_value_of "$sb_name" || continue
                case $sb_value in *[!A-Za-z0-9_@%+=:,./-]*) echo "$sb_name" ;; esac
            done ;;
    esac
}

# DeepSpeed's autotuner exits with 0 whatever came of its experiments. Its configuration may name another
# folder for the results.
sb_check_autotuner() {
    [ -n "$sb_autotune_config" ] || return 0
    sb_results=$(tr ',{}' '\n' <"$sb_autotune_config" 2>/dev/null |
        sed -n 's/^.*"results_dir"[^:]*:[^"]*"\([^"]*\)".*/\1/p' | head -n 1)
    sb_results=${sb_results:-autotuning_results}
    if [ ! -d "$sb_results" ]; then
        echo "signalbox: there is no folder $sb_results: nobody knows whether the autotuner found anything"
    elif [ ! "$sb_results/ds_config_optimal.json" -nt "$sb_run_dir/started" ]; then
        sb_fail 66 "the autotuner left no $sb_results/ds_config_optimal.json: no experiment has succeeded"
    fi
}

sb_stop() {
    sb_stopped=yes sb_signalled=yes
    kill -s TERM -- "$sb_target" 2>/dev/null
}

# What of the launcher's log names a failure: the first errors, with rank and pod, and torchrun's last
# report. A kubelet reads the end of the log alone, and there are others' consequences by then.
sb_errors='
# In the locale C substr counts bytes: what is cut ends with a whole character.
function cut(line, most) {
    if (length(line) <= most) return line
    line = substr(line, 1, most)
    sub(/[\300-\377][\200-\277]*$/, "", line)
    return line
}
# Of ranks that say the same at the same place, but for numbers, the lowest two: which of them come first
# is chance. 0: there is no room.
function slot_of(key,    i, same, last) {
    for (i = 1; i <= errors && key != ""; i++)
        if (key_of[i] == key) { same++; if (!last || rank_of[i] > rank_of[last]) last = i }
    if (same > 1) return rank < rank_of[last] ? last : 0
    return errors < 6 ? ++errors : 0
}
function pod_of(line) { return match(line, /^[a-z0-9][-a-z0-9.]*: /) ? substr(line, 1, RLENGTH) : "" }
function without_numbers(line,    code) {
    code = match(line, /return code = /) ? substr(line, RSTART) : ""
    gsub(/[0-9]+/, "0", line)
    return line code
}
function sameness_of(line) { return without_numbers(substr(line, length(pod_of(line)) + 1)) }
# The first; of pods that say the same the lowest.
function lowest(kept, line,    a, b) {
    a = pod_of(kept); b = pod_of(line)
    if (kept && sameness_of(kept) != sameness_of(line)) return kept
    return !kept || length(b) < length(a) || (length(b) == length(a) && b < a) ? line : kept
}
function tell(    i, key, where) {
    where = mixed[from] ? "" : place[from]
    key = ranked ? substr(where, length(from) + 1) "\n" without_numbers(body) : ""
    if (i = slot_of(key)) {
        key_of[i] = key; rank_of[i] = rank; from_of[i] = from
        text_of[i] = (where ? where "\n" : "") cut($0, 300) "\n"
    }
    slot[from] = i
}
# torch says below an error of NCCL of which kind it is, and then the last words of NCCL.
function goes_on(line) {
    if (!nccl[from]) return 0
    if (line ~ /^nccl[A-Za-z]*: |^Unknown NCCL error!|^Last error:/) nccl[from] = line ~ /^Last/ ? 2 : 1
    else { last = nccl[from] == 2 && line != ""; nccl[from] = 0; if (!last) return 0 }
    if (from_of[slot[from]] == from) text_of[slot[from]] = text_of[slot[from]] cut($0, 300) "\n"
    return 1
}
function is_error(line) { return line ~ /^[A-Za-z_][A-Za-z0-9_.]*(Error|Exception|Exit|Interrupt)(:|$)/ }
function is_place(line) { return line ~ /^ *File ".*", line [0-9]/ }
# The innermost place of a traceback in a file of the user; of two that lie in between each other none.
function is_own(line) { return line !~ /\/(site|dist)-packages\/|\/lib\/python3|File "</ }
function innermost(kept, line) { return !kept || is_own(line) || !is_own(kept) ? line : kept }
function note_place(line) { if (!mixed[from]) place[from] = innermost(place[from], cut(line, 300)) }
function told_with_place() {
    if (!harmless[from]) {
        tell()
        nccl[from] = body ~ /NCCL error/
    }
    harmless[from] = 0
    if (open[from] > 0) open[from]--
    if (!open[from]) forget_place()
}
function forget_place() { place[from] = ""; mixed[from] = 0 }
# Of reports of several nodes the last; of those that end in the same way that of the lowest rank.
function end_report() {
    if (last_report && root_code == last_code && last_rank < root_rank) return
    last_report = report; last_rank = root_rank; last_code = root_code
}
function is_refusal(line) { return line ~ /: can.t open file ./ || line ~ /^[^ :]+: error: / || line ~ /^Fatal Python error: / || line ~ /: (command )?not found$/ }
function is_death(line) { return line ~ / exits with return code = (-(4|7|8|9|11)|[2-9]|[1-9][0-9]+)$/ || line ~ /: line [0-9]+: +[0-9]+ (Killed|Aborted|Bus error|Segmentation fault)/ || line ~ /: Assertion `.*. failed[.]$/ }
# With tracebacks of several ranks in between each other, a name alone may be the text of one of them.
function ends_traceback(line) { return is_error(line) || (open[from] == 1 && line ~ /^[A-Za-z_][A-Za-z0-9_.<>]*(: |$)/) }
{
    from = pod_of($0); body = substr($0, length(from) + 1)
    if (match(body, /^\[rank[0-9]+\]: /)) { from = from substr(body, 1, RLENGTH); rank = substr(body, 6) + 0; body = substr(body, RLENGTH + 1); ranked = 1 } else ranked = 0
    if (goes_on(body)) next
    # Of ranks that torchrun lists, in the reports of all nodes, those that ended in a way of their own: where
    # reports lie in between each other their codes alone. Of those that say an error, where they were.
    if (body ~ /^  host +:/) entry = listed_rank = ""
    if (body ~ /^  (host|rank) +:/) entry = entry cut(body, 200) "\n"
    if (body ~ /^  rank +:/ && entry ~ /^  host/) { listed_rank = body; sub(/^[^:]*: */, "", listed_rank); listed_rank += 0 }
    if (body ~ / : -?[0-9]+ \(pid: / || body ~ /^: -?[0-9]+ \(pid: /) {
        if (body !~ /: (0|1|-6|-15) \(pid: / && others++ < 3) ends = ends entry cut(body, 200) "\n"
        else if (listed_rank != "") entry_of[listed_rank] = entry cut(body, 200) "\n"
        entry = listed_rank = ""
    }
    if (body ~ /^Failures:/) { listed = 1; next }
    if (listed && body ~ /^[- ]|^\[[0-9]+\]:/) { if (body ~ /^-/) listed = 0; next }
    if (body ~ /^Root Cause \(first observed failure\):/) { end_report(); report = inner = ""; lines = 25 }
    if (lines > 0) {
        # Of a traceback under @record the innermost place.
        if (body ~ /^    /) {
            if (is_place(body)) inner = innermost(inner, cut(body, 200) "\n")
            next
        }
        if (body ~ /^====/) lines = 1
        if (match(body, /^  rank +: /)) root_rank = substr(body, RLENGTH + 1) + 0
        if (match(body, /^  exitcode +: /)) root_code = substr(body, RLENGTH + 1) + 0
        report = report inner cut(body, 200) "\n"
        inner = ""
        lines--
    }
    else if (body ~ /^Traceback \(most recent call last\)/) { if (open[from]) mixed[from] = 1; else forget_place(); open[from]++ }
    else if (is_place(body)) note_place($0)
    else if (open[from] ? ends_traceback(body) : (ranked || place[from]) && is_error(body)) told_with_place()
    else if (body ~ /^ *what\(\): /) { if (!died && thrown[from]) died = thrown[from] cut($0, 300) "\n" }
    # An interpreter that crashes as it ends has nothing left to run, and says nothing of why it ends.
    else if (body ~ /^ *<no Python frame>/) { if (refused ~ /Fatal Python error: /) { late = refused; refused = "" } }
    else if (body ~ /^[^ \t]/) {
        thrown[from] = body ~ /^terminate called after throwing / ? cut($0, 300) "\n" : ""
        harmless[from] = body ~ /^(Exception ignored |--- Logging error|Error in atexit[.])/
        if (is_death(body)) died = lowest(died, cut($0, 300) "\n")
        if (is_refusal($0) || is_refusal(body)) refused = lowest(refused, cut($0, 300) "\n")
        if (!open[from]) forget_place()
    }
}
END {
    end_report()
    if (!errors && !refused) refused = late
    for (i = 1; i <= errors; i++) text = text text_of[i]
    for (i = 1; i <= errors; i++) {
        if (key_of[i] == "" || length(refused died text ends last_report entry_of[rank_of[i]]) > 4000) continue
        ends = entry_of[rank_of[i]] ends
        entry_of[rank_of[i]] = ""
    }
    printf "%s%s%s%s%s", refused, died, text, ends, last_report
}'

# The log goes on as it comes, by way of file descriptor 3; a copy of it is read. An image without these
# programs does without.
sb_watch_log() {
    sb_reader=''
    exec 3>&1
    command -v awk >/dev/null 2>&1 && command -v tee >/dev/null 2>&1 &&
        mkfifo "$sb_run_dir/log" "$sb_run_dir/log.copy" 2>/dev/null || return 0
    tr '\r' '\n' <"$sb_run_dir/log.copy" | LC_ALL=C awk "$sb_errors" >"$sb_run_dir/errors" 2>/dev/null &
    sb_reader=$!
    tee "$sb_run_dir/log.copy" <"$sb_run_dir/log" &
    sb_copier=$!
    exec 3>"$sb_run_dir/log"
}

# What the program wrote last has to be out before this pod ends. Processes that it left behind may hold
# the log open for ever.
sb_end_log() {
    [ -n "$sb_reader" ] || return 0
    { sleep 5 && kill "$sb_copier" "$sb_reader"; } >/dev/null 2>&1 &
    wait "$sb_copier" "$sb_reader" 2>/dev/null
    kill $! 2>/dev/null
}

sb_tell_failure() {
    [ ! -s "$sb_run_dir/errors" ] ||
        { tail -c 4000 "$sb_run_dir/errors" >"$sb_termination_log"; } 2>/dev/null
}

# Runs the program as a child, in a process group of its own where the image can: as process 1 it
# would ignore TERM, and its own children would not hear of it.
sb_run() {
    sb_stopped=''
    trap 'sb_stopped=yes' TERM INT QUIT
    sb_watch_log
    if command -v setsid >/dev/null 2>&1; then
        setsid "$@" >&3 2>&1 3>&- &
        sb_child=$! sb_target=-$!
    else
        "$@" >&3 2>&1 3>&- &
        sb_child=$! sb_target=$!
    fi
    exec 3>&-
    trap sb_stop TERM INT QUIT
    [ -z "$sb_stopped" ] || sb_stop # it came just before
    # A signal ends the wait, and says nothing about the child. Its code can be asked for again, in
    # dash only once (127 from then on).
    sb_code=''
    while :; do
        sb_signalled=''
        wait "$sb_child" 2>/dev/null
        sb_status=$?
        [ "$sb_status" = 127 ] && [ -n "$sb_code" ] || sb_code=$sb_status
        [ -n "$sb_signalled" ] || break
    done
    sb_end_log
    # Ranks on other pods have no terminal: they do not end with a launcher that is stopped or killed.
    [ -z "$sb_stopped" ] && [ "$sb_code" -lt 128 ] || sb_visit "$sb_here/hostfile"
}

sb_launch() {
    trap 'sb_stop_sshd; exit 143' TERM INT QUIT
    trap sb_stop_sshd EXIT
    # The program and its arguments become those of this function.
    . "$sb_here/run.sh"
    [ $# -gt 0 ] || sb_fail 64 "the job names no program to launch"
    sb_need "$1"
    sb_check_pdsh
    [ "$sb_launcher_sshd" = no ] || sb_keep_environment
    sb_prepare_ssh
    if [ "$sb_launcher_sshd" = yes ]; then
        sb_prepare_sshd
        sb_start_sshd
    fi
    sb_write_launcher_env
    sb_wait_for_workers
    sb_check_directory
    [ "$sb_exports" != all ] || sb_escape_environment
    if [ "$sb_bare_environment" = yes ]; then # as a session would have it
        sb_all_names | grep -v -x -E 'HOME|HOSTNAME|LOGNAME|SHELL|TERM|USER|PYTHONUNBUFFERED' |
            grep -v -x -F "$(sb_session_names)"
    else
        sb_hidden_names
    fi >"$sb_run_dir/hidden"
    while read -r sb_name; do
        set -- -u "$sb_name" "$@"
    done <"$sb_run_dir/hidden"
    [ ! -s "$sb_run_dir/hidden" ] || set -- env "$@"
    : >"$sb_run_dir/started"
    sb_run "$@"
    [ "$sb_code" = 0 ] && sb_check_autotuner || sb_tell_failure
    exit "$sb_code"
}

mkdir -p "$sb_run_dir" 2>/dev/null
case ${1:-} in
    worker)
        sb_keep_environment
        sb_prepare_ssh
        sb_prepare_sshd
        sb_write_launcher_env
        exec "$sb_sshd_program" -D -e -f "$sb_run_dir/sshd_config"
        ;;
    launcher) sb_launch ;;
    idle)
        sb_prepare_ssh
        exec sleep inf
        ;;
    *) sb_fail 64 "bootstrap.sh knows no role ${1:-}" ;;
esac
)bootstrap";
// clang-format on

}  // namespace signalbox::core::launch
