/**
 * A waiting daemon once runs the first requests of a sandbox in advance. Loading and compiling their code takes 20 ms of a processor, which is spent while
 * the daemon is idle, not during the claim. Only the compiled code remains.
 */
import { createServer } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { ArmedState } from "./armed-state.ts";
import { noProgram } from "./own-program.ts";

/** A sandbox that does not exist. */
const name = "rehearsal";

/** Runs a command in a second, armed daemon that is reachable only over an in-memory connection, and drops it. Resolves with the answer. */
export async function rehearseCommand(helper: string): Promise<string> {
  const { armedHandler } = await import("./armed/armed-server.ts");
  const state = new ArmedState();
  state.arm(name, { accessToken: name });
  const handle = armedHandler({ state, helper, program: noProgram });
  const armed = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const [ours, theirs] = duplexPair();
  armed.emit("connection", theirs);
  return spoken(ours, commandRequest(helper));
}

/** In the form of E2B's SDKs. The command is the helper: it exists in every image and refuses the arguments at once. */
function commandRequest(helper: string): Buffer {
  const message = Buffer.from(JSON.stringify({ process: { cmd: helper, args: ["-l", "-c", "true"], envs: {} }, stdin: false }));
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

/** Resolves when the server has closed the connection. */
async function spoken(connection: Duplex, request: Buffer): Promise<string> {
  connection.write(request);
  const chunks: Buffer[] = [];
  for await (const chunk of connection as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}
