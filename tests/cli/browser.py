"""A headless Chromium, driven by its DevTools protocol."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time

PROGRAM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class WebSocket:
    """Sends and receives whole messages of text (RFC 6455)."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        if b" 101 " not in self.stream.readline():
            raise AssertionError("no WebSocket is there")
        while self.stream.readline().strip():
            pass

    def send(self, text):
        body, mask = text.encode(), os.urandom(4)
        size = struct.pack(">B", 0x80 | len(body)) if len(body) < 126 else struct.pack(">BH", 0x80 | 126, len(body))
        self.socket.sendall(b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(body)))

    def receive(self):
        text, last = b"", False
        while not last:
            first, size = self.stream.read(2)
            last, size = first & 0x80, size & 0x7f
            if size == 126:
                size, = struct.unpack(">H", self.stream.read(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.stream.read(8))
            text += self.stream.read(size)
        return text.decode()

    def close(self):
        self.stream.close()
        self.socket.close()


class Browser:
    """A page in a browser of its own."""

    def __init__(self, url):
        self.page, self.count = None, 0
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             f"--user-data-dir={self.profile.name}", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.page = WebSocket(*self.find_page(url))
        except BaseException:
            self.end()
            raise

    def find_page(self, url):
        """Port and path of the page's socket."""
        file = pathlib.Path(self.profile.name) / "DevToolsActivePort"
        for _ in range(600):
            if file.exists() and (lines := file.read_text().split()):
                connection = http.client.HTTPConnection("127.0.0.1", int(lines[0]), timeout=60)
                with contextlib.closing(connection):
                    connection.request("GET", "/json")
                    pages = json.loads(connection.getresponse().read())
                for page in pages:
                    if page["type"] == "page" and page["url"] == url:
                        return int(lines[0]), page["webSocketDebuggerUrl"].split(lines[0], 1)[1]
            time.sleep(0.1)
        raise AssertionError("the browser did not open the page")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        self.count += 1
        self.page.send(json.dumps({"id": self.count, "method": "Runtime.evaluate",
                                   "params": {"expression": expression, "returnByValue": True}}))
        while True:
            answer = json.loads(self.page.receive())
            if answer.get("id") == self.count:
                return answer["result"]["result"].get("value")

    def end(self):
        if self.page is not None:
            self.page.close()
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()
