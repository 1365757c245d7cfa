/** Servers inside of a sandbox, reached by the names that the SDK gives them. */
import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";

const webSocketEcho = `
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
        head = self.rfile.read(2)
        length, mask = head[1] & 127, self.rfile.read(4)
        text = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
        answer = b"echo " + text
        self.wfile.write(bytes([0x81, len(answer)]) + answer)
        self.close_connection = True
http.server.HTTPServer(("0.0.0.0", 8002), Echo).serve_forever()
`;

/** Tells what it was asked, and streams when it is asked to. */
const mirror = `
import http.server, json, time
class Mirror(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = lambda text: (self.wfile.write(f"{len(text):x}\\r\\n{text}\\r\\n".encode()), self.wfile.flush())
        piece("first")
        open("/home/user/go").read()
        piece("second")
        piece("")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = {"path": self.path, "host": self.headers["Host"], "kept": self.headers["X-Kept"], "size": len(body)}
        answer = json.dumps(told).encode()
        self.send_response(418)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("X-Told", "yes")
        self.end_headers()
        self.wfile.write(answer)
http.server.ThreadingHTTPServer(("0.0.0.0", 8003), Mirror).serve_forever()
`;

describeSdks("hosts of sandboxes", (use) => {
  const serve = async (command: string): Promise<void> => {
    await use.sandbox.commands.run(command, { background: true, timeoutMs: 0 });
  };
  const get = (port: number, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`https://${use.sandbox.getHost(port)}${path}`, init);

  test("a host is made of port, id and domain", () => {
    expect(use.sandbox.getHost(3000)).toBe(`3000-${use.sandbox.sandboxId}.${use.server.domain}`);
  });

  test("a web server in the sandbox is reached by its host", async () => {
    await use.sandbox.files.write("site/index.html", "<h1>from the sandbox</h1>");
    await serve("python3 -m http.server 8000 --directory site");
    await eventually(async () => expect(await (await get(8000, "/")).text()).toBe("<h1>from the sandbox</h1>"));
    expect((await get(8000, "/missing")).status).toBe(404);
  });

  test("one that listens on its loopback alone is reached too", async () => {
    await use.sandbox.files.write("loop/index.html", "loopback");
    await serve("python3 -m http.server 8001 --bind 127.0.0.1 --directory loop");
    await eventually(async () => expect(await (await get(8001, "/")).text()).toBe("loopback"));
  });

  test("a WebSocket in the sandbox is reached by its host", async () => {
    await use.sandbox.files.write("echo.py", webSocketEcho);
    await serve("python3 echo.py");
    await eventually(async () => {
      const answer = Promise.withResolvers<string>();
      const socket = new WebSocket(`wss://${use.sandbox.getHost(8002)}/`);
      socket.addEventListener("open", () => socket.send("hello"));
      socket.addEventListener("message", ({ data }) => answer.resolve(String(data)));
      socket.addEventListener("error", () => answer.reject(new Error("no WebSocket")));
      expect(await answer.promise).toBe("echo hello");
      socket.close();
    });
  });

  test("path, headers, body and status go through as they are", async () => {
    await use.sandbox.files.write("mirror.py", mirror);
    await serve("python3 mirror.py");
    await eventually(async () => expect((await get(8003, "/", { method: "POST", body: "x" })).status).toBe(418));
    const response = await get(8003, "/a%20b/?c=d&c=e", {
      method: "POST",
      headers: { "x-kept": "=1" },
      body: Buffer.alloc(3_000_000, "x"),
    });
    expect([response.status, response.headers.get("x-told"), await response.json()]).toEqual([
      418,
      "yes",
      { path: "/a%20b/?c=d&c=e", host: use.sandbox.getHost(8003), kept: "=1", size: 3_000_000 },
    ]);
  });

  test("an answer is told while it is made", async () => {
    await use.sandbox.commands.run("rm -f go; mkfifo go");
    const reader = (await get(8003, "/")).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first");
    // It waits for this; so what we have read was sent before its end.
    await use.sandbox.commands.run("echo > go");
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("second");
  });

  test("a port where nothing listens is a 502 that says so", async () => {
    const response = await get(9999, "/");
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ sandboxId: use.sandbox.sandboxId, port: 9999, code: 502 });
  });

  test("a sandbox that never was is a 502 that says so", async () => {
    const response = await fetch(`https://3000-inosuchsandbox.${use.server.domain}/`);
    expect([response.status, await response.json()]).toEqual([
      502,
      { sandboxId: "inosuchsandbox", message: "The sandbox was not found", code: 502 },
    ]);
  });

  test("private traffic needs the token of the sandbox", async () => {
    const sandbox = await use.create({ network: { allowPublicTraffic: false } });
    await sandbox.commands.run("python3 -m http.server 8000", { background: true, timeoutMs: 0 });
    const url = `https://${sandbox.getHost(8000)}/`;
    expect((await fetch(url)).status).toBe(403);
    const token = sandbox.trafficAccessToken ?? "";
    expect(token).not.toBe("");
    await eventually(async () => expect((await fetch(url, { headers: { "e2b-traffic-access-token": token } })).status).toBe(200));
  });
});

/** In the other mode these addresses do not say which sandbox they are for. */
const byHosts = (_: string, mode: string): boolean => mode === "hosts";

describeSdks(
  "signed addresses",
  (use) => {
    test("a file is fetched by an address alone", async () => {
      await use.sandbox.files.write("for you.txt", "signed");
      expect(await (await fetch(await use.sandbox.downloadUrl("for you.txt"))).text()).toBe("signed");
    });

    test("a file is sent to an address alone", async () => {
      const form = new FormData();
      form.append("file", new Blob(["sent"]), "sent.txt");
      const response = await fetch(await use.sandbox.uploadUrl("sent.txt"), { method: "POST", body: form });
      expect(response.status).toBe(200);
      expect(await use.sandbox.files.read("sent.txt")).toBe("sent");
    });

    test("an address is good until its time, and not after", async () => {
      await use.sandbox.files.write("soon", "x");
      const good = await use.sandbox.downloadUrl("soon", { useSignatureExpiration: 60 });
      expect((await fetch(good)).status).toBe(200);
      const over = await use.sandbox.downloadUrl("soon", { useSignatureExpiration: -10 });
      const refused = await fetch(over);
      expect([refused.status, await refused.json()]).toMatchObject([
        401,
        { message: expect.stringContaining("signature is already expired") },
      ]);
    });

    test("an address for one file opens no other", async () => {
      const url = new URL(await use.sandbox.downloadUrl("soon"));
      url.searchParams.set("path", "/etc/shadow");
      expect((await fetch(url)).status).toBe(401);
    });
  },
  { by: byHosts },
);
