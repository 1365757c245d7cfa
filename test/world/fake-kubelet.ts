/**
 * An API server with one pod whose "container" is this machine: it speaks the exec protocol of Kubernetes and runs what it is asked to.
 * The daemon's launcher is the real one, run from the sources.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import type { Pod } from "#model/pod.ts";

export interface FakeKubelet extends AsyncDisposable {
  readonly url: string;
  pod: Pod | undefined;
  /** Instead of running anything. */
  refuse: { readonly status: number; readonly message: string } | undefined;
  /** The token that requests must send; none is needed when left out. */
  token: string | undefined;
  /** Every path that was asked for. */
  readonly paths: readonly string[];
  /** Sizes that terminals were given. */
  readonly sizes: readonly { readonly Width: number; readonly Height: number }[];
  readonly answerLogs: (answer: (query: URLSearchParams, response: ServerResponse) => void) => void;
  /** What is running now. */
  readonly running: ReadonlySet<ChildProcess>;
  /** Cuts every connection, as a server that dies does. */
  readonly cut: () => void;
}

const launcher = join(import.meta.dirname, "../../src/envd/launch/launch.ts");

export async function startFakeKubelet(protocols: readonly string[] = ["v5.channel.k8s.io", "v4.channel.k8s.io"]): Promise<FakeKubelet> {
  const paths: string[] = [];
  const sizes: { Width: number; Height: number }[] = [];
  const running = new Set<ChildProcess>();
  let answer: (query: URLSearchParams, response: ServerResponse) => void = (_, response) => response.end();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    paths.push(url.pathname + url.search);
    if (url.pathname.endsWith("/log")) answer(url.searchParams, response);
    else if (kubelet.pod === undefined) refuse(response, 404, 'pods "py-1" not found');
    else response.setHeader("content-type", "application/json").end(JSON.stringify(kubelet.pod));
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => protocols.find((protocol) => offered.has(protocol)) ?? false,
  });
  server.on("upgrade", (request, wire, head) => {
    paths.push(request.url ?? "");
    const isKnown = kubelet.token === undefined || request.headers.authorization === `Bearer ${kubelet.token}`;
    const refusal = isKnown ? kubelet.refuse : { status: 401, message: "Unauthorized" };
    if (refusal !== undefined) {
      const body = JSON.stringify({ kind: "Status", code: refusal.status, message: refusal.message });
      wire.end(`HTTP/1.1 ${refusal.status} No\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    const query = new URL(request.url ?? "", "http://x").searchParams;
    sockets.handleUpgrade(request, wire, head, (socket) => run(socket, query));
  });

  function run(socket: WebSocket, query: URLSearchParams): void {
    const words = query.getAll("command");
    const at = words.findIndex((word) => word.endsWith("/launch.cjs"));
    const argv = at === -1 ? words : [process.execPath, launcher, ...words.slice(at + 1)];
    const child = spawn(argv[0] ?? "", argv.slice(1), { detached: true, stdio: "pipe" });
    running.add(child);
    const send = (channel: number, content: Buffer): void => socket.send(Buffer.concat([Buffer.from([channel]), content]));
    const status = (value: object): void => {
      running.delete(child);
      send(3, Buffer.from(JSON.stringify(value)));
      socket.close(1000);
    };
    for (const [channel, stream] of [[1, child.stdout] as const, [2, child.stderr] as const]) {
      stream.on("data", (chunk: Buffer) => {
        send(channel, chunk);
        stream.pause();
        const wait = (): unknown => (socket.bufferedAmount > 1 << 20 ? setTimeout(wait, 1) : stream.resume());
        wait();
      });
    }
    child.stdin.on("error", () => {});
    child.on("error", (error) => status({ status: "Failure", message: error.message }));
    child.on("close", (code, signal) => {
      const causes = [{ reason: "ExitCode", message: String(code ?? (signal === "SIGKILL" ? 137 : 143)) }];
      if (running.has(child)) status(code === 0 ? { status: "Success" } : { status: "Failure", details: { causes } });
    });
    socket.on("message", (data: Buffer) => {
      const content = data.subarray(1);
      if (data[0] === 0) child.stdin.write(content);
      else if (data[0] === 4) sizes.push(JSON.parse(content.toString()) as { Width: number; Height: number });
      else if (data[0] === 255 && content[0] === 0) child.stdin.end();
    });
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const kubelet: FakeKubelet = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pod: undefined,
    refuse: undefined,
    token: undefined,
    paths,
    sizes,
    running,
    answerLogs: (how) => {
      answer = how;
    },
    cut: () => {
      for (const socket of sockets.clients) socket.terminate();
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of running) child.kill("SIGKILL");
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return kubelet;
}

function refuse(response: ServerResponse, code: number, message: string): void {
  const reason = code === 404 ? "NotFound" : "BadRequest";
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify({ kind: "Status", code, reason, message }));
}
