# SPDX-License-Identifier: Apache-2.0
"""What somebody may write without a quota must not decide how much memory the operator takes (README.md)."""
import sys
import unittest

import large_jobs

JOBS = 120
BYTES = 1_200_000
# MB: 16 of the program, 48 MiB of what is kept of jobs, 32 MiB of what passes take (BEHAVIOUR.md 12.13). The texts alone are more: 144.
MOST = 100


class Memory(unittest.TestCase):
    def test_large_paused_jobs_take_no_memory(self):
        """[behaviour 12.13] while they are made, and when a new process finds them."""
        with large_jobs.Cluster(sys.argv[1]) as cluster:
            for phase, process in large_jobs.phases(cluster, JOBS, BYTES):
                with self.subTest(phase):
                    most, _, _ = process.cost()
                    self.assertLess(most, MOST)
                    self.assertNotIn("error", process.log.read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
