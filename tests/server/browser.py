"""A headless Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_PATIENCE = 60.0  # seconds; machines that run tests are slow at times
_KEYS = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    " ": {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
    "ArrowRight": {"code": "ArrowRight", "windowsVirtualKeyCode": 39},
    "ArrowUp": {"code": "ArrowUp", "windowsVirtualKeyCode": 38},
    "ArrowDown": {"code": "ArrowDown", "windowsVirtualKeyCode": 40},
    "Escape": {"code": "Escape", "windowsVirtualKeyCode": 27},
}
_CTRL = 2
_WIDEST_PHONE = 600


class Page:
    """One tab: what it loaded, what its console said, and hands to use it with."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._choosers: list[int] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the protocol; events that come before it are noted."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=_PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message["method"], message["params"])

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Page.fileChooserOpened":
            self._choosers.append(about["backendNodeId"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"]["text"])
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(about["args"]))

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def evaluate(self, script: str) -> Any:
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_until(self, script: str) -> None:
        """Wait for a script to be true."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if self.evaluate(f"Boolean({script})"):
                return
            time.sleep(0.01)
        raise AssertionError(f"never came true: {script}; the page says: {self.evaluate('document.body.innerText')}")

    def press(self, key: str, *, ctrl: bool = False) -> None:
        """Press a named key or type a character, as a keyboard does."""
        about: dict[str, Any] = {"key": key, **_KEYS.get(key, {"text": key}), "modifiers": _CTRL if ctrl else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about)
        about.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def tab_to(self, script: str) -> None:
        """Press Tab until the focused element, called `it`, is as the script says."""
        for _ in range(120):
            if self.evaluate(f"(it => Boolean({script}))(document.activeElement)"):
                return
            self.press("Tab")
        raise AssertionError(f"Tab never leads to: {script}")

    def choose_file(self, path: Path) -> None:
        """Open the file chooser of the focused input by keyboard, and choose a file in it."""
        self.call("Page.setInterceptFileChooserDialog", enabled=True)
        self.press("Enter")
        end = time.monotonic() + _PATIENCE
        while not self._choosers and time.monotonic() < end:
            self.evaluate("0")  # events arrive with the answers
        self.call("DOM.setFileInputFiles", files=[str(path)], backendNodeId=self._choosers.pop())

    def download_to(self, folder: Path) -> None:
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def look(self, *, width: int, height: int, dark: bool = False, scale: float = 1) -> None:
        """Look at the page on a screen of this size; narrow ones are those of phones."""
        is_phone = width < _WIDEST_PHONE
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        screen = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        self.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of what is in view, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def chromium(folder: Path) -> Iterator[Callable[[], Page]]:
    """A browser of its own, its files in `folder`; gives a function that opens a tab."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0",
        # A mouse, which a headless browser lacks: hover, and a fine pointer.
        "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
        f"--user-data-dir={folder}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with contextlib.ExitStack() as tabs:
            port = _debugging_port(folder / "DevToolsActivePort", process)

            def new_tab() -> Page:
                request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
                with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                    address = json.load(answer)["webSocketDebuggerUrl"]
                return Page(tabs.enter_context(connect(address, max_size=None, open_timeout=_PATIENCE)))

            yield new_tab
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE)


def _debugging_port(file: Path, process: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(file.read_text().splitlines()[0])
        time.sleep(0.05)
    raise AssertionError("Chromium did not start")
