# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, steered by its DevTools protocol over a pair of pipes."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from tests.waiting import awaited

# Debian's two packages, and what others call it.
_PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
_PATIENCE = 60.0
_OPTIONS = (
    "--headless",
    # Tests may run as root, where there is no sandbox; the pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "about:blank",
)


class Browser:
    """With one page. `complaints` are its errors: of scripts, of the console, and of what the
    page's policy forbids; `requests` is all that it asked for."""

    def __init__(self, folder: Path) -> None:
        program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
        if program is None:
            pytest.skip("there is no Chromium: apt-get install chromium-headless-shell")
        # The browser reads from its descriptor 3 and writes to 4.
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, program, f"--user-data-dir={folder}", *_OPTIONS],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        self.complaints: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    # ---- the page ---------------------------------------------------------------------------

    def show(
        self,
        page: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        place: str = "",
    ) -> None:
        """Anew, whatever was shown before; `place` is the id that the address names."""
        self._load("about:blank")
        self.complaints, self.requests = [], []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._load(f"{page.as_uri()}{place and '#'}{place}")

    def _load(self, address: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self._take()

    def until(self, expression: str) -> None:
        """Waits for what scripts do when they have their turn."""
        awaited(lambda: self.value(expression), expression, seconds=_PATIENCE)

    def value(self, expression: str) -> Any:
        """A script's result, as JSON has it."""
        said = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def click(self, selector: str) -> None:
        """With the mouse, where it is."""
        place = self.value(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
            "found.scrollIntoView({block: 'center', inline: 'center'});"
            "const box = found.getClientRects()[0];"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def press(self, selector: str, key: str) -> None:
        """On the keyboard, of what has the focus."""
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **text)

    # ---- the protocol -----------------------------------------------------------------------

    def call(self, method: str, **parameters: object) -> Mapping[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: Mapping[str, Any] = answer["result"]
                return result

    def _take(self) -> Mapping[str, Any]:
        """The next message, whose event is kept if it is one that tests ask about."""
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            content = os.read(self._in, 2**16) if ready else b""
            assert content, f"the browser is silent (exit code {self._process.poll()})"
            self._received += content
        text, _, self._received = self._received.partition(b"\0")
        message: Mapping[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, said: Mapping[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.complaints.append(str(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])

    def close(self) -> None:
        # It ends its other processes, too, which write into its folder.
        self._session = None
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
