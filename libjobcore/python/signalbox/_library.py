# SPDX-License-Identifier: Apache-2.0
"""The shared library by ctypes: texts in, texts out."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Optional

_OK, _BAD_ARGUMENT, _NO_MEMORY = 0, 1, 2


class _Text(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_char)), ("size", ctypes.c_size_t)]


def _load() -> ctypes.CDLL:
    """The library beside this file, or the one that SIGNALBOX_JOBCORE_LIBRARY names."""
    beside = pathlib.Path(__file__).with_name("libsignalbox_jobcore.so")
    library = ctypes.CDLL(os.environ.get("SIGNALBOX_JOBCORE_LIBRARY") or str(beside))
    text, handle = ctypes.POINTER(_Text), ctypes.c_void_p
    for name, result, arguments in (
        ("version", ctypes.c_char_p, []),
        ("api_version", ctypes.c_char_p, []),
        ("call", ctypes.c_int, [ctypes.c_char_p, ctypes.c_size_t, text]),
        ("free", None, [text]),
        ("open", ctypes.c_int, [ctypes.POINTER(handle)]),
        ("job_call", ctypes.c_int, [handle, ctypes.c_char_p, ctypes.c_size_t, text]),
        ("close", None, [handle]),
    ):
        function = getattr(library, f"signalbox_jobcore_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()
VERSION: str = _library.signalbox_jobcore_version().decode()
API_VERSION: str = _library.signalbox_jobcore_api_version().decode()


def _check(code: int) -> None:
    if code == _NO_MEMORY:
        raise MemoryError("signalbox: no memory for the answer")
    if code == _BAD_ARGUMENT:
        raise ValueError("signalbox: a request of 2 GiB or more")
    if code != _OK:
        raise RuntimeError(f"signalbox: a defect of the library (code {code})")


def _take(answer: _Text) -> str:
    try:
        return ctypes.string_at(answer.data, answer.size).decode()
    finally:
        _library.signalbox_jobcore_free(ctypes.byref(answer))


def call(request: str) -> str:
    """Answers one request of the text API. From any thread."""
    text, answer = request.encode(), _Text()
    _check(_library.signalbox_jobcore_call(text, len(text), ctypes.byref(answer)))
    return _take(answer)


class Handle:
    """Answers requests about one job, whose specification it compiles once. From any thread: they take turns."""

    def __init__(self) -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        self._turn = threading.Lock()
        handle = ctypes.c_void_p()
        _check(_library.signalbox_jobcore_open(ctypes.byref(handle)))
        self._handle = handle

    def call(self, request: str) -> str:
        text, answer = request.encode(), _Text()
        with self._turn:
            if self._handle is None:
                raise ValueError("signalbox: the handle is closed")
            code = _library.signalbox_jobcore_job_call(self._handle, text, len(text), ctypes.byref(answer))
        _check(code)
        return _take(answer)

    def close(self) -> None:
        """Closed twice is closed."""
        with self._turn:
            handle, self._handle = self._handle, None
        if handle is not None:
            _library.signalbox_jobcore_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
