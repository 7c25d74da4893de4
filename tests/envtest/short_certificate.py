# SPDX-License-Identifier: Apache-2.0
"""An authority whose client certificates end after seconds. As a program it is a credential program:
short_certificate.py FOLDER USER SECONDS [--untold] prints a credential, and adds a line to the file `count` of the
authority's folder. Where there is a file `fail` in it, it takes that away and fails instead."""

import datetime
import json
import pathlib
import subprocess
import sys
import time

CONFIGURATION = """
[ca]
default_ca = signer
[signer]
database = {folder}/index.txt
new_certs_dir = {folder}
certificate = {folder}/ca.crt
private_key = {folder}/ca.key
default_md = sha256
rand_serial = yes
unique_subject = no
policy = names
x509_extensions = client
[names]
commonName = supplied
[client]
basicConstraints = CA:FALSE
extendedKeyUsage = clientAuth
"""
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


class Authority:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.certificate, self.count, self.fail = (self.folder / name for name in ("ca.crt", "count", "fail"))

    def make(self):
        (self.folder / "index.txt").touch()
        (self.folder / "ca.cnf").write_text(CONFIGURATION.format(folder=self.folder))
        key = self.folder / "ca.key"
        openssl("req", "-x509", *CURVE, "-keyout", key, "-out", self.certificate, "-subj", "/CN=short", "-days", 2)
        return self

    def issue(self, user, seconds):
        """Certificate and key as texts, and the end: a server takes it that long. It counts whole seconds."""
        begin, end = utc(time.time() - 3600), utc(int(time.time()) + seconds)
        key, request, certificate = (self.folder / name for name in ("user.key", "user.csr", "user.crt"))
        openssl("req", "-new", *CURVE, "-keyout", key, "-out", request, "-subj", f"/CN={user}")
        openssl(
            "ca", "-batch", "-notext", "-config", self.folder / "ca.cnf", "-in", request, "-out", certificate,
            "-startdate", f"{begin:%Y%m%d%H%M%SZ}", "-enddate", f"{end:%Y%m%d%H%M%SZ}",
        )
        return certificate.read_text(), key.read_text(), end


def main():
    folder, user, seconds, *untold = sys.argv[1:]
    authority = Authority(folder)
    with open(authority.count, "a") as file:
        file.write("run\n")
    if authority.fail.exists():
        authority.fail.unlink()
        sys.exit("no certificate today")
    certificate, key, end = authority.issue(user, int(seconds))
    status = {"clientCertificateData": certificate, "clientKeyData": key}
    if not untold:
        status["expirationTimestamp"] = f"{end:%Y-%m-%dT%H:%M:%SZ}"
    form = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    print(json.dumps({**form, "status": status}))


if __name__ == "__main__":
    main()
