# SPDX-License-Identifier: Apache-2.0
"""Debian's Prometheus, scraping operators on this machine with the alerts of operator/deploy/observability."""

import json
import re
import urllib.parse
import urllib.request

import servers
from cluster import ROOT
from servers import eventually

OBSERVABILITY = ROOT / "operator" / "deploy" / "observability"
READY = "Server is ready to receive web requests."
LISTENS = re.compile(r'msg="Listening on" address=(\S+)')


class Prometheus(servers.Process):
    """`targets`: addresses that are scraped as the job `signalbox`; more may be given to scrape(). `secured`: the folder of
    deployed.secrets()."""

    def __init__(self, folder, targets=(), interval="1s", secured=None):
        folder.mkdir()
        self.targets = folder / "targets.json"
        self.scrape(*targets)
        job = {
            "job_name": "signalbox",
            "file_sd_configs": [{"files": [str(self.targets)], "refresh_interval": "1s"}],
        }
        if secured:
            job["scheme"] = "https"
            job["tls_config"] = {"ca_file": str(secured / "tls.crt")}
            job["authorization"] = {"credentials_file": str(secured / "token")}
        (folder / "prometheus.yaml").write_text(json.dumps({
            "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
            "rule_files": [str(OBSERVABILITY / "rules.yaml")],
            "scrape_configs": [job],
        }))
        super().__init__(
            "prometheus",
            [
                "prometheus", f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}",
                "--web.listen-address=127.0.0.1:0", "--log.level=info",
            ],
            folder / "prometheus.log",
        )

        def address():
            if not self.running():
                raise servers.ServerFailed(self.tail())
            text = self.log.read_text()
            return READY in text and LISTENS.search(text)[1]

        self.url = f"http://{eventually('Prometheus is ready', address)}"

    def scrape(self, *targets):
        """From now on these, in place of those before."""
        new = self.targets.with_suffix(".new")
        new.write_text(json.dumps([{"targets": list(targets)}]))
        new.replace(self.targets)

    def ask(self, path, **parameters):
        """`data` of an answer of its API."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=servers.PATIENCE) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """[(labels, value)] of what it says now."""
        return [(each["metric"], float(each["value"][1])) for each in self.ask("query", query=expression)["result"]]

    def rules(self):
        """The alerts by name, as it has evaluated them."""
        return {rule["name"]: rule for group in self.ask("rules")["groups"] for rule in group["rules"]}
