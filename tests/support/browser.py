"""A headless Chromium, spoken to over a pipe by its DevTools protocol: no port, no driver."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.patience import PATIENCE

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Browser:
    """One tab. `messages` collects console errors, exceptions and failed requests."""

    def __init__(self):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._profile = tempfile.mkdtemp(prefix="browser-")
        command = [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile}",
            "about:blank",
        ]
        # Chromium reads commands from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._next = 0
        self._session = None
        self.messages = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self.call("Browser.close")
        finally:
            self._process.wait(timeout=PATIENCE)
            os.close(self._read)
            os.close(self._write)
            shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        self._next += 1
        number = self._next
        request = {"id": number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        os.write(self._write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _receive(self):
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has gone"
            self._buffer += part
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(raw)
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.messages.append(message["params"]["exceptionDetails"])
            case "Log.entryAdded":
                self.messages.append(message["params"]["entry"])
            case "Runtime.consoleAPICalled":
                self.messages.append(message["params"]["args"])
            case "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    self.messages.append({"request": url})
        return message

    def open(self, path, *, width=1280, height=900, dark=False, media="screen"):
        """Open a file, or an address, and wait until it is laid out and painted."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)
        is_address = str(path).startswith("http:")
        self.call("Page.navigate", url=path if is_address else Path(path).resolve().as_uri())
        while self.evaluate("document.readyState") != "complete":
            time.sleep(0.01)
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def evaluate(self, expression):
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")
