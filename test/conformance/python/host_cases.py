"""Servers inside of a sandbox, reached by the names that the SDK gives them, and addresses of files."""

import base64
import os
import socket
import ssl
import urllib.error
import urllib.request

from harness import case, done, eventually

ECHO = """
import base64, hashlib, http.server
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        head, mask = self.rfile.read(2), self.rfile.read(4)
        text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
        self.wfile.write(bytes([0x81, len(text) + 5]) + b"echo " + text)
        self.close_connection = True
http.server.HTTPServer(("0.0.0.0", 8002), Echo).serve_forever()
"""


def get(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def says(host, text):
    """What a WebSocket at the host answers to a short text."""
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port or 443)), timeout=20) as plain:
        with ssl.create_default_context().wrap_socket(plain, server_hostname=name) as wire:
            key = base64.b64encode(os.urandom(16)).decode()
            head = ("GET / HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade")
            more = (f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", "")
            wire.sendall("\r\n".join(head + more).encode())
            answer = wire.makefile("rb")
            assert answer.readline().startswith(b"HTTP/1.1 101")
            while answer.readline() not in (b"\r\n", b""):
                pass
            wire.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text.encode())
            size = answer.read(2)[1]
            return answer.read(size).decode()


async def answers(call, wanted):
    async def is_right():
        try:
            return call() == wanted
        except (OSError, AssertionError):
            return False

    await eventually(is_right)


@case("a web server in the sandbox is reached by its host")
async def _(use):
    await done(use.sandbox.files.write("site/index.html", "from the sandbox"))
    await use.run("python3 -m http.server 8000 --directory site", background=True, timeout=0)
    await answers(lambda: get(f"https://{use.sandbox.get_host(8000)}/"), "from the sandbox")


@case("a WebSocket in the sandbox is reached by its host")
async def _(use):
    await done(use.sandbox.files.write("echo.py", ECHO))
    await use.run("python3 echo.py", background=True, timeout=0)
    await answers(lambda: says(use.sandbox.get_host(8002), "hello"), "echo hello")


@case("a port where nothing listens is a 502")
async def _(use):
    try:
        get(f"https://{use.sandbox.get_host(9999)}/")
    except urllib.error.HTTPError as error:
        assert error.code == 502
    else:
        raise AssertionError("it answered")


@case("files are fetched and sent by an address alone")
async def _(use):
    await done(use.sandbox.files.write("for you.txt", "signed"))
    assert get(await done(use.sandbox.download_url("for you.txt", use_signature_expiration=60))) == "signed"
    form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"sent.txt\"\r\n\r\nsent\r\n--b--\r\n"
    url = await done(use.sandbox.upload_url("sent.txt"))
    request = urllib.request.Request(url, form.encode(), {"Content-Type": "multipart/form-data; boundary=b"})
    urllib.request.urlopen(request, timeout=20).close()
    assert await done(use.sandbox.files.read("sent.txt")) == "sent"
