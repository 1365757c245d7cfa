/**
 * A program in a sandbox that reads HTTP to the letter: whatever a lenient reader would guess at is a complaint. So what the gateway passes
 * on means one thing, to any reader.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { isHeaderText } from "./raw-exchange.ts";

export interface StrictProgram extends AsyncDisposable {
  readonly port: number;
  /** What was not as it has to be. */
  readonly complaints: readonly string[];
  /** Request targets, in their order. */
  readonly asked: readonly string[];
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\/[\x21-\x7e\x80-\xff]*) HTTP\/1\.1$/;

/** `says` is in all of its answers. */
export async function strictProgram(host: string, says: string, port = 0): Promise<StrictProgram> {
  const complaints: string[] = [];
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let held = "";
    socket.on("data", (chunk) => {
      held += chunk.toString("latin1");
      for (let next = readRequest(held); next !== undefined; next = readRequest(held)) {
        if ("complaint" in next) {
          complaints.push(`${next.complaint}: ${JSON.stringify(held.slice(0, 600))}`);
          socket.destroy();
          return;
        }
        asked.push(next.target);
        held = held.slice(next.length);
        const body = next.method === "HEAD" ? "" : says;
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${says.length}\r\n\r\n${body}`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    complaints,
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Read = { readonly method: string; readonly target: string; readonly length: number } | Complaint;

interface Complaint {
  readonly complaint: string;
}
type Headers = ReadonlyMap<string, readonly string[]>;

/** Undefined: there is more to come. */
function readRequest(text: string): Read | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const line = requestLine.exec(first);
  if (line === null) return { complaint: "the first line is not one of a request" };
  const headers = readHeaders(lines);
  if ("complaint" in headers) return headers;
  const complaint = wrongHeaders(headers);
  if (complaint !== undefined) return { complaint };
  const length = bodyLength(text.slice(end + 4), headers);
  if (typeof length !== "number") return length;
  return { method: line[1] ?? "", target: line[2] ?? "", length: end + 4 + length };
}

function readHeaders(lines: readonly string[]): Headers | Complaint {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*):[ \t]?(.*)$/.exec(line) ?? [];
    if (!token.test(name) || !isHeaderText(value)) return { complaint: `not a header: ${JSON.stringify(line.slice(0, 100))}` };
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value]);
  }
  return headers;
}

function wrongHeaders(headers: Headers): string | undefined {
  for (const name of ["host", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"])
    if (headers.get(name)?.length !== 1) return `${name} is not there once`;
  for (const name of ["e2b-sandbox-id", "e2b-sandbox-port", "proxy-connection", "http2-settings"])
    if (headers.has(name)) return `${name} is not for a sandbox`;
  if (headers.has("content-length") && headers.has("transfer-encoding")) return "the body has two lengths";
  if ((headers.get("content-length")?.length ?? 0) > 1) return "the body has two lengths";
  return undefined;
}

/** Undefined: there is more to come. */
function bodyLength(rest: string, headers: Headers): number | Complaint | undefined {
  const coding = headers.get("transfer-encoding")?.join(", ");
  if (coding !== undefined)
    return coding === "chunked" ? chunksLength(rest) : { complaint: `a transfer encoding that is not chunked: ${coding}` };
  const stated = headers.get("content-length")?.[0] ?? "0";
  if (!/^\d{1,15}$/.test(stated)) return { complaint: "the length of the body is no number" };
  return rest.length < Number(stated) ? undefined : Number(stated);
}

function chunksLength(rest: string): number | Complaint | undefined {
  for (let at = 0; ;) {
    const line = rest.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const text = rest.slice(at, line);
    if (!/^[0-9a-fA-F]{1,8}$/.test(text)) return { complaint: `not the size of a chunk: ${JSON.stringify(text.slice(0, 60))}` };
    const size = Number.parseInt(text, 16);
    if (size === 0) {
      const last = rest.indexOf("\r\n\r\n", line);
      return last < 0 ? undefined : last + 4;
    }
    const after = line + 2 + size;
    if (rest.length < after + 2) return undefined;
    if (rest.slice(after, after + 2) !== "\r\n") return { complaint: "a chunk is longer than it says" };
    at = after + 2;
  }
}
