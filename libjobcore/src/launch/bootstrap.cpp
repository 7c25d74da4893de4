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
# Exit codes of its own: 64 the image or the pod lacks something, 75 workers did not answer in time.
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

sb_all_names() {
    env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'
}

# What an ssh session on this pod is to find in its environment: sshd passes nothing on by itself.
sb_session_names() {
    cat "$sb_here/env-shared" "$sb_here/env-pod"
    echo PATH LD_LIBRARY_PATH LIBRARY_PATH PYTHONPATH CUDA_HOME | tr ' ' '\n'
    case $sb_session_env in
        all) # envFrom: nobody knows the names beforehand
            sb_all_names | grep -v -x -E \
                'HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|SHLVL|HOSTNAME|TERM|_|(KUBERNETES|SSH)_.*' ;;
        named) sb_all_names | grep -E '^(NVIDIA|NCCL|GLOO)_' ;;
        *) sb_all_names | grep '^NVIDIA_' ;;
    esac
}

# One line: of several only the first would count. A value of several lines cannot be written. An
# unset name is left out, as it would arrive as an empty value.
sb_set_env() {
    sb_line=SetEnv
    for sb_name in $(sb_session_names | sort -u); do
        sb_value_of "$sb_name" || continue
        case $sb_value in *"$sb_newline"*) continue ;; esac
        sb_line="$sb_line $sb_name=\"$(printf '%s\n' "$sb_value" | sed 's/[\\"]/\\&/g')\""
    done
    [ "$sb_line" = SetEnv ] || printf '%s\n' "$sb_line"
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
END
    sb_set_env
}

# The launchers and pdsh call ssh without naming a configuration: it has to lie in the user's home.
# ssh takes the home of the account, Python that of the environment.
sb_link_ssh_config() {
    sb_account=$(awk -F: -v id="$(id -u)" '$3 == id { print $6; exit }' /etc/passwd 2>/dev/null)
    for sb_home in "${HOME:-}" "$sb_account"; do
        case $sb_home in '' | "${sb_ssh_dir%/.ssh}") continue ;; esac
        {
            mkdir -p "$sb_home/.ssh" && chmod 700 "$sb_home/.ssh" &&
                cp "$sb_ssh_dir/config" "$sb_home/.ssh/config" && chmod 600 "$sb_home/.ssh/config"
        } 2>/dev/null ||
            sb_fail 64 "cannot write $sb_home/.ssh/config, which ssh needs to find the job's keys"
    done
}

sb_prepare_ssh() {
    sb_need ssh
    [ -r "$sb_ssh_dir/config" ] ||
        sb_fail 64 "$sb_ssh_dir/config cannot be read: the user of the container needs access"
    [ "$sb_link_config" = no ] || sb_link_ssh_config
}

sb_prepare_sshd() {
    sb_sshd_program=$sb_sshd
    [ -x "$sb_sshd_program" ] || sb_sshd_program=$(command -v sshd) ||
        sb_fail 64 "the image has no $sb_sshd (package openssh-server)"
    [ -r "$sb_ssh_dir/ssh_host_key" ] ||
        sb_fail 64 "$sb_ssh_dir/ssh_host_key cannot be read: the user of the container needs access"
    if [ "$(id -u)" = 0 ]; then # sshd run by root insists on it
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
# to version: only plain values (the rest comes by SetEnv), and a doubled % for pdsh.
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
        "$1" /bin/sh -s >/dev/null 2>&1
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
            )($(grep -c . "$sb_run_dir/silent") workers)"
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
sb_clean_environment() {
    # shellcheck disable=SC2013 # names are words
    for sb_name in $(cat "$sb_here/env-shared" "$sb_here/env-pod"); do
        sb_value_of "$sb_name" || continue
        case $sb_value in
            *"$sb_newline"*) ;;
            *[\\\"\$\`]*)
                sb_value=$(printf '%s\n' "$sb_value" | sed 's/[\\"$`]/\\&/g')
                eval "$sb_name=\$sb_value" && export "${sb_name?}" ;;
        esac
    done
}

# Names that must not reach the workers, one per line.
sb_hidden_names() {
    env | sed -n 's/^\([^=]*\)=.*/\1/p' | grep -x -E \
        'HOSTNAME|(KUBERNETES|SSH)_.*|UID|EUID|PPID|BASHOPTS|SHELLOPTS|[^A-Za-z_].*|.*[^A-Za-z0-9_].*'
}

sb_stop() {
    sb_stopped=yes sb_signalled=yes
    kill -s TERM -- "$sb_target" 2>/dev/null
}

# Runs the program as a child, in a process group of its own where the image can: as process 1 it
# would ignore TERM, and its own children would not hear of it.
sb_run() {
    sb_stopped=''
    trap 'sb_stopped=yes' TERM INT QUIT
    if command -v setsid >/dev/null 2>&1; then
        setsid "$@" &
        sb_child=$! sb_target=-$!
    else
        "$@" &
        sb_child=$! sb_target=$!
    fi
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
    # Ranks on other pods have no terminal: they do not end with the launcher.
    [ -z "$sb_stopped" ] || sb_visit "$sb_here/hostfile"
}

sb_launch() {
    trap 'sb_stop_sshd; exit 143' TERM INT QUIT
    trap sb_stop_sshd EXIT
    # The program and its arguments become those of this function.
    . "$sb_here/run.sh"
    [ $# -gt 0 ] || sb_fail 64 "the job names no program to launch"
    sb_need "$1"
    sb_check_pdsh
    sb_prepare_ssh
    if [ "$sb_launcher_sshd" = yes ]; then
        sb_prepare_sshd
        sb_start_sshd
    fi
    sb_write_launcher_env
    sb_wait_for_workers
    sb_check_directory
    if [ "$sb_exports_environment" = yes ]; then
        sb_clean_environment
        sb_hidden_names >"$sb_run_dir/hidden"
        while read -r sb_name; do
            set -- -u "$sb_name" "$@"
        done <"$sb_run_dir/hidden"
        [ ! -s "$sb_run_dir/hidden" ] || set -- env "$@"
    fi
    sb_run "$@"
    exit "$sb_code"
}

mkdir -p "$sb_run_dir" 2>/dev/null
case ${1:-} in
    worker)
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
