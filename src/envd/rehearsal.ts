/**
 * A waiting daemon goes once through what the first requests of a sandbox will ask of it: loading and compiling for them takes 20 ms of a
 * processor, which is paid while nobody waits and not by whoever claims the sandbox. Nothing is left of them but code.
 */
import { createServer } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { ArmedState } from "./armed-state.ts";
import { noProgram } from "./own-program.ts";

/** The sandbox that there is not. */
const name = "rehearsal";

/** A command, in an armed daemon that nobody can reach, over a connection in memory, and that is forgotten afterwards. Resolves with the answer. */
export async function rehearseCommand(runner: string): Promise<string> {
  const { armedHandler } = await import("./armed/armed-server.ts");
  const state = new ArmedState();
  state.arm(name, { accessToken: name });
  const handle = armedHandler({ state, runner, program: noProgram });
  const armed = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const [ours, theirs] = duplexPair();
  armed.emit("connection", theirs);
  return spoken(ours, commandRequest(runner));
}

/** As E2B's SDKs write it. The command is the runner: without steps it ends at once, and it is there in every image. */
function commandRequest(runner: string): Buffer {
  const message = Buffer.from(JSON.stringify({ process: { cmd: runner, args: ["-l", "-c", "true"], envs: {} }, stdin: false }));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(message.length, 1);
  const headers = {
    "content-type": "application/connect+json",
    "connect-protocol-version": "1",
    "connect-timeout-ms": "60000",
    "keepalive-ping-interval": "50",
    "x-access-token": name,
    authorization: `Basic ${Buffer.from("root:").toString("base64")}`,
  };
  return httpRequest("/process.Process/Start", headers, Buffer.concat([length, message]));
}

function httpRequest(path: string, headers: Readonly<Record<string, string>>, body: Buffer): Buffer {
  const all = { host: name, connection: "close", ...headers, "content-length": String(body.length) };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}

/** Until the server has closed the connection. */
async function spoken(connection: Duplex, request: Buffer): Promise<string> {
  connection.write(request);
  const chunks: Buffer[] = [];
  for await (const chunk of connection as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}
