# A program in a sandbox that says a number twice a second, the same to every client: as a chunked answer, or to a WebSocket.
import asyncio
import base64
import hashlib
import time

BEGAN = time.time()
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def web_socket_key(head):
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "sec-websocket-key":
            return value.strip()
    return None


def answer(key):
    if key is None:
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    accept = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
    return f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode()


def framed(key, line):
    return b"%x\r\n%s\r\n" % (len(line), line) if key is None else bytes([0x81, len(line)]) + line


async def serve(reader, writer):
    try:
        key = web_socket_key((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer(key))
        tick = int((time.time() - BEGAN) * 2)
        while True:
            # The one that is due already may have been told on the connection before.
            tick += 1
            await asyncio.sleep(max(0, BEGAN + tick / 2 - time.time()))
            writer.write(framed(key, b"%d\n" % tick))
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        writer.close()


async def main():
    async with await asyncio.start_server(serve, "0.0.0.0", 3000) as server:
        await server.serve_forever()


asyncio.run(main())
