# SPDX-License-Identifier: Apache-2.0
"""Waiting for what happens by itself in other processes."""

import time

PATIENCE = 300  # seconds until something that never comes is a failure; a test that passes waits for the event alone


def eventually(what, condition, interval=0.1, patience=PATIENCE):
    """The first true value of `condition()`. Fails with `what`, a text or a function that gives one, if it never comes."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience} s: {what() if callable(what) else what}")
        time.sleep(interval)
