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
database = index.txt
new_certs_dir = .
certificate = ca.crt
private_key = ca.key
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


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


class Authority:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.certificate = self.folder / "ca.crt"
        self.count, self.fail, self.end, self.late = (self.folder / name for name in ("count", "fail", "end", "late"))

    def make(self):
        self.folder.mkdir(exist_ok=True)
        (self.folder / "index.txt").touch()
        (self.folder / "ca.cnf").write_text(CONFIGURATION)
        self.openssl("req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=short", "-days", "2")
        return self

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder)

    def issue(self, user, seconds):
        """Certificate and key as texts, and the end: a server takes it that long. It counts whole seconds, and never the last
        one whole."""
        begin, end = utc(time.time() - 3600), utc(int(time.time()) + seconds)
        self.openssl("req", "-new", *CURVE, "-keyout", "user.key", "-out", "user.csr", "-subj", f"/CN={user}")
        self.openssl(
            "ca", "-batch", "-notext", "-config", "ca.cnf", "-in", "user.csr", "-out", "user.crt",
            "-startdate", f"{begin:%Y%m%d%H%M%SZ}", "-enddate", f"{end:%Y%m%d%H%M%SZ}",
        )
        return *((self.folder / name).read_text() for name in ("user.crt", "user.key")), end

    def hand_over(self, end, seconds):
        """Notes that the user has this certificate, which lasts so long in all, from now on. If less than a tenth of the life of
        the one before was left, the file `late` says so: on a busy machine all may take longer than such a life."""
        if self.end.exists() and time.time() > float(self.end.read_text()) - seconds / 10:
            self.late.touch()
        self.end.write_text(str(end.timestamp()))


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
    authority.hand_over(end, int(seconds))
    print(json.dumps({**form, "status": status}))


if __name__ == "__main__":
    main()
