#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance table of the embedded API server, and the client's verbs, against a real kube-apiserver, as
tests/envtest starts it.

Skips with exit code 77 where its programs are not there. Usage: real_server_test.py <path of k8sio_server_tests>
"""
import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TESTS / "envtest"))
import servers  # noqa: E402 (from the folder above)


def main():
    try:
        servers.find_assets()
    except servers.AssetsMissing as missing:
        servers.skip_suite("k8sio_real_server", str(missing))
    with servers.ControlPlane() as plane:
        plane.serve_kinds(pathlib.Path(__file__).with_name("widget_crd.json"))
        plane.start_controllers()
        environment = {
            **os.environ,
            "SIGNALBOX_CONFORMANCE_SERVER": plane.url,
            "SIGNALBOX_CONFORMANCE_TOKEN": plane.admin_token,
        }
        command = [sys.argv[1], "[.real-server]", "--warn", "NoTests"]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
