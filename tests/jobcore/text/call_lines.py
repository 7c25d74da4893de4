# SPDX-License-Identifier: Apache-2.0
"""The door for Python: answers requests of the text API, one line in and one line out. A single call and both calls of a
handle must answer the same."""

import sys

from signalbox import _library

for line in sys.stdin:
    request = line.rstrip("\n")
    answer = _library.call(request)
    handle = _library.Handle()
    assert handle.call(request) == answer, "the first call of a handle answers otherwise"
    assert handle.call(request) == answer, "the second call of a handle answers otherwise"
    handle.close()
    print(answer)
