# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes API for tests: etcd, kube-apiserver and the garbage collector and other controllers of kube-controller-manager.

    with ControlPlane() as plane:
        plane.serve_kinds("crds.yaml")
        plane.start_controllers()
        run_operator(kubeconfig=plane.operator_kubeconfig)
        plane.kill_apiserver()
        plane.start_apiserver()        # same port, same etcd

There is no scheduler and no kubelet: pods stay Pending until something writes their status. All is in a temporary
folder and on free ports of 127.0.0.1; every process ends by SIGKILL with the block, with an exception, and with the
death of this process, however it dies. Needs only Python's standard library.

By hand: `python3 servers.py` starts all, prints how to use it, and ends with Ctrl-C.
"""

import atexit
import base64
import ctypes
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from api_reader import REQUEST_TIMEOUT, Connection, Reader  # noqa: E402
from skips import skip_suite  # noqa: E402, F401 (for the suites too)
from waiting import PATIENCE, eventually  # noqa: E402

PR_SET_PDEATHSIG = 1
CONTROLLERS = ("garbage-collector-controller", "namespace-controller", "deployment-controller", "replicaset-controller")

# They live for seconds: collecting garbage less often saves a quarter of what a kube-apiserver's start costs.
GO_ENVIRONMENT = {**os.environ, "GOGC": "400"}


class AssetsMissing(Exception):
    """The programs are not there and were not to be built; the text says why."""


class ServerFailed(Exception):
    """A server ended or did not become ready; the text holds the end of its log."""


def find_assets():
    """The folder of the programs: from KUBEBUILDER_ASSETS or the cache. Never builds."""
    found = subprocess.run(["bash", str(HERE / "build_assets.sh"), "--cached"], capture_output=True, text=True)
    if found.returncode != 0:
        raise AssetsMissing(found.stderr.strip().splitlines()[-1])
    return pathlib.Path(found.stdout.strip().splitlines()[-1])


def free_ports(count, address="127.0.0.1"):
    """Ports of that address that were free a moment ago. Another process may take one: whoever starts retries."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((address, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Process:
    """A child process with a log file, which ends by SIGKILL at the latest when this process does."""

    def __init__(self, name, command, log, env=None):
        self.name, self.log = name, pathlib.Path(log)
        parent = os.getpid()
        prctl = ctypes.CDLL(None).prctl

        def die_with_parent():
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # it died before the call
                os.kill(os.getpid(), signal.SIGKILL)

        with open(self.log, "ab") as output:
            # A session of its own: Ctrl-C reaches this process only, which then ends the others in order.
            self.child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def running(self):
        return self.child.poll() is None

    def kill(self):
        """SIGKILL, and waits for the end. Harmless if it has ended already."""
        if self.running():
            self.child.kill()
        self.child.wait()

    def tail(self, lines=30):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class Started:
    """What has start(), which gives itself, and stop(), which may follow a start that failed."""

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def started(self, clean_up):
        """For a test, whose addCleanup or addClassCleanup stops it."""
        clean_up(self.stop)
        return self.start()


def groups_of(user):
    """Those that the server puts a service account in; none of other users."""
    if not user.startswith("system:serviceaccount:"):
        return []
    return ["system:serviceaccounts", f"system:serviceaccounts:{user.split(':')[2]}"]


class ControlPlane(Started):
    """etcd and kube-apiserver, and controllers where they are asked for. See the head of this file.

    operator_user: the user behind `operator_kubeconfig`. It has no right but what RBAC objects give it, and by default
    it is a service account, so that the operator's own RBAC manifests apply to it as they are.
    apiserver_arguments: more arguments of kube-apiserver.
    controllers: further ones, by the names that kube-controller-manager gives them; controller_arguments: more arguments of
    kube-controller-manager, which runs where `assets` has it, and controllers/main.go where not.
    service_accounts: pods need the service account that they name, `default` if none. There is no controller that makes any.
    """

    def __init__(
        self,
        assets=None,
        operator_user="system:serviceaccount:signalbox-system:signalbox",
        apiserver_arguments=(),
        service_accounts=False,
        controllers=(),
        controller_arguments=(),
    ):
        self.assets = pathlib.Path(assets) if assets else find_assets()
        self.operator_user = operator_user
        # Without a controller for service accounts every pod would be refused.
        admission = [] if service_accounts else ["--disable-admission-plugins=ServiceAccount"]
        self.apiserver_arguments = [*admission, *apiserver_arguments]
        self.controllers = [*CONTROLLERS, *controllers]
        self.controller_arguments = controller_arguments
        self.admin_token, self.operator_token = secrets.token_hex(16), secrets.token_hex(16)
        self.folder = None
        self.connections = {}  # by token
        self.reader = Reader(self.get)
        self.object, self.objects = self.reader.object, self.reader.objects
        self.etcd = self.apiserver = self.controllers_process = None

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_file(self):
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def admin_kubeconfig(self):
        return self.folder / "admin.kubeconfig"

    @property
    def operator_kubeconfig(self):
        return self.folder / "operator.kubeconfig"

    def start(self):
        """Starts etcd and kube-apiserver; returns when the latter is ready."""
        atexit.register(self.stop)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="signalbox-envtest-"))
        (self.folder / "certificates").mkdir()
        self._write_credentials()
        for attempt in (1, 2, 3):  # a port may be taken between finding and using it
            try:
                self.etcd_port, self.etcd_peer_port, self.port = free_ports(3)
                self._start_etcd()
                self.start_apiserver()
                break
            except ServerFailed as failure:
                self._kill_all()
                if attempt == 3 or "address already in use" not in str(failure):
                    raise
        self.write_kubeconfig(self.admin_kubeconfig, "admin", self.admin_token)
        self.write_kubeconfig(self.operator_kubeconfig, "operator", self.operator_token)
        return self

    def stop(self):
        """Kills everything and removes the folder. Harmless if called again."""
        self._close_connections()
        self._kill_all()
        if self.folder and not os.environ.get("SIGNALBOX_ENVTEST_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def start_apiserver(self):
        """Starts kube-apiserver (again): same port and etcd, and the same certificate, if it is still there. Returns when it is
        ready."""
        folder = self.folder
        self.apiserver = Process(
            "kube-apiserver",
            [
                self.assets / "kube-apiserver",
                f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
                f"--cert-dir={folder / 'certificates'}",
                f"--secure-port={self.port}",
                "--bind-address=127.0.0.1",
                "--service-account-issuer=https://localhost",
                f"--service-account-key-file={folder / 'service-account.key'}",
                f"--service-account-signing-key-file={folder / 'service-account.key'}",
                "--authorization-mode=RBAC",
                f"--token-auth-file={folder / 'tokens.csv'}",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--allow-privileged",
                *self.apiserver_arguments,
            ],
            folder / "kube-apiserver.log",
            GO_ENVIRONMENT,
        )

        def ready():
            self._close_connections()  # they may have another certificate, or one that was not yet written
            return self.get("/readyz") == b"ok"

        self._wait(self.apiserver, ready)

    def _close_connections(self):
        for connection in self.connections.values():
            connection.close()
        self.connections = {}

    def kill_apiserver(self):
        """Stops kube-apiserver at once: connections break, the port refuses until start_apiserver."""
        self.apiserver.kill()

    def save(self):
        """Takes a copy of what etcd holds; servers are away meanwhile. For restore()."""
        self._replace(self.folder / "etcd", self.folder / "saved")

    def restore(self):
        """The servers come back with the data of the last save(): versions go back with it."""
        self._replace(self.folder / "saved", self.folder / "etcd")

    def _replace(self, source, target):
        self.apiserver.kill()
        self.etcd.kill()
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        self._start_etcd()
        self.start_apiserver()

    def serve_kinds(self, source, *options, stdin=None):
        """Applies custom resource definitions: a file or folder, or `-` for `stdin`. `options`: of `kubectl apply`; with
        `--server-side` they may be of any size. Returns when discovery has every kind that the cluster defines: then kubectl
        and clients that start from now on know them all. Each has its watch cache then, too: before that a list comes from
        etcd, and a watch of its version may be told to list once more."""
        self.kubectl("apply", "-f", source, *options, stdin=stdin)

        def kinds():
            return {
                (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"])
                for crd in self.objects("customresourcedefinitions")
                for version in crd["spec"]["versions"]
                if version["served"]
            }

        def missing():
            return kinds() - {(group, version, resource["resource"]) for group, version, resource in self.reader.discover()}

        def has_watch_cache(kind):
            try:
                return self.get(f"/apis/{'/'.join(kind)}?resourceVersion=0") is not None
            except OSError:  # 429: storage is (re)initializing
                return False

        eventually(lambda: f"kinds in discovery: {missing()}", lambda: not missing())
        eventually("every kind has its watch cache", lambda: all(map(has_watch_cache, kinds())))

    def start_controllers(self):
        """Starts garbage collection, namespace deletion, and what makes pods of Deployments; returns at once.

        The collector looks for new kinds every 30 s: call serve_kinds() before, for whatever it is to collect.
        """
        manager = self.assets / "kube-controller-manager"
        command = [self.assets / "controllers"]
        if manager.exists():
            command = [manager, "--leader-elect=false", "--secure-port=0", *self.controller_arguments]
        self.controllers_process = Process(
            "controllers",
            [*command, f"--controllers={','.join(self.controllers)}", f"--kubeconfig={self.admin_kubeconfig}"],
            self.folder / "controllers.log",
            GO_ENVIRONMENT,
        )

    def connection(self, token=None):
        """Of the administrator if no token is given."""
        token = token or self.admin_token
        if token not in self.connections:
            self.connections[token] = Connection(self.url, token, self.ca_file.read_text())
        return self.connections[token]

    def get(self, path, accept="application/json", token=None):
        """Body of GET `path`, as administrator if no token is given. Raises OSError if there is no good answer."""
        return self.connection(token).get(path, accept)

    def kubectl(self, *arguments, stdin=None, check=True, kubeconfig=None):
        """Runs the real kubectl as administrator (or with another kubeconfig); gives the CompletedProcess."""
        program = self.assets / "kubectl"
        result = subprocess.run(
            [
                str(program) if program.exists() else "kubectl",
                f"--kubeconfig={kubeconfig or self.admin_kubeconfig}",
                f"--cache-dir={self.folder / 'kubectl-cache'}",
                *map(str, arguments),
            ],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=GO_ENVIRONMENT,
        )
        if check and result.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {result.stderr.strip()}")
        return result

    def may(self, user, verb, resource, namespace="default"):
        """Whether a user has this right, without a kubectl for each question. `resource`: with its group and its part, as
        `pods/log` and `leases.coordination.k8s.io` are."""
        resource, _, part = resource.partition("/")
        resource, _, group = resource.partition(".")
        attributes = {"verb": verb, "group": group, "resource": resource, "subresource": part, "namespace": namespace}
        review = {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": [*groups_of(user), "system:authenticated"], "resourceAttributes": attributes}}
        answer = self.connection().send("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return json.loads(answer)["status"]["allowed"]

    def apply(self, *objects):
        """Applies objects given as dictionaries."""
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def _start_etcd(self):
        url = f"http://127.0.0.1:{self.etcd_port}"
        self.etcd = Process(
            "etcd",
            [
                self.assets / "etcd",
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls={url}",
                f"--advertise-client-urls={url}",
                f"--listen-peer-urls=http://127.0.0.1:{self.etcd_peer_port}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
            self.folder / "etcd.log",
            GO_ENVIRONMENT,
        )

        def healthy():
            with urllib.request.urlopen(f"{url}/health", timeout=REQUEST_TIMEOUT) as answer:
                return json.load(answer).get("health") == "true"

        self._wait(self.etcd, healthy)

    def _wait(self, process, ready):
        def is_ready():
            if not process.running():
                raise ServerFailed(f"{process.name} ended with {process.child.returncode}:\n{process.tail()}")
            try:
                return ready()
            except (OSError, ValueError):
                return False  # not yet: refused, no certificate yet, 403 or 500

        eventually(lambda: f"{process.name} is ready:\n{process.tail()}", is_ready, interval=0.05)

    def _write_credentials(self):
        subprocess.run(
            ["openssl", "genrsa", "-out", str(self.folder / "service-account.key"), "2048"],
            check=True,
            capture_output=True,
        )
        groups = groups_of(self.operator_user)
        column = f',"{",".join(groups)}"' if groups else ""
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(
            f'{self.admin_token},admin,admin,"system:masters"\n'
            f"{self.operator_token},{self.operator_user},operator{column}\n"
        )

    def write_kubeconfig(self, path, name, user, authority=None):
        """Credentials for anybody. `user`: a token, or an entry for it as kubeconfigs have them. `authority`: a file with the CA,
        which is named; without it the kubeconfig has a copy."""
        server = {"server": self.url}
        if authority:
            server["certificate-authority"] = str(authority)
        else:
            server["certificate-authority-data"] = base64.b64encode(self.ca_file.read_bytes()).decode()
        path.touch(mode=0o600)
        # JSON is YAML.
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "envtest",
                    "clusters": [{"name": "envtest", "cluster": server}],
                    "users": [{"name": name, "user": {"token": user} if isinstance(user, str) else user}],
                    "contexts": [{"name": "envtest", "context": {"cluster": "envtest", "user": name}}],
                },
                indent=2,
            )
        )

    def _kill_all(self):
        for process in (self.controllers_process, self.apiserver, self.etcd):
            if process:
                process.kill()


def credential_program(*arguments):
    """The entry of a user whose credentials a Python program prints."""
    return {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(each) for each in arguments],
        "interactiveMode": "Never",
    }}


def end_by_exception(number, _):
    """Handler for SIGTERM and SIGHUP: leaves by an exception, so that `with` blocks clean up."""
    sys.exit(128 + number)


for _signal in (signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_signal) is signal.SIG_DFL:
        signal.signal(_signal, end_by_exception)


def main():
    try:
        with ControlPlane() as plane:
            plane.start_controllers()
            print(f"{plane.url} is ready; end it with Ctrl-C")
            print(f"export KUBECONFIG={plane.admin_kubeconfig}", flush=True)
            signal.pause()
    except AssetsMissing as missing:
        sys.exit(f"{missing}\ntests/envtest/build_assets.sh builds the programs")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
