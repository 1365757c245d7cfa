/** Bytes to a server, and all that it says until it hangs up. */
import { connect } from "node:net";

export interface Sent {
  readonly port: number;
  readonly host?: string;
  /** Several: with a pause for the server between them. */
  readonly bytes: readonly Uint8Array[];
  /** The client has no more to say: without it the server must end the connection by itself. */
  readonly cut: boolean;
}

export interface Heard {
  /** Byte by byte. */
  readonly text: string;
  /** Of all answers, those that tell to go on left out. */
  readonly statuses: readonly number[];
}

/** Far more than any answer takes on a machine under load. */
export const patienceMs = 60_000;

const cutAfterMs = 8;

/** Rejects when the server neither answers nor hangs up. */
export function exchange({ port, host = "127.0.0.1", bytes, cut }: Sent): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host, port, allowHalfOpen: true });
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end after ${patienceMs} ms; so far: ${Buffer.concat(chunks).toString("latin1").slice(0, 500)}`));
    }, patienceMs);
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    // Hung up on while there was more to say.
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      clearTimeout(late);
      const text = Buffer.concat(chunks).toString("latin1");
      resolve({ text, statuses: statusesIn(text) });
    });
    const write = (at: number): void => {
      const chunk = bytes[at];
      if (chunk === undefined) {
        // Not before it had the time to answer: some servers take the end of one direction for the end of all.
        if (cut) setTimeout(() => socket.end(), chunks.length > 0 ? 0 : cutAfterMs);
        return;
      }
      socket.write(chunk, () => setImmediate(() => write(at + 1)));
    };
    write(0);
  });
}

function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)).filter((status) => status >= 200);
}

/** A request in HTTP/1.1 whose head is as it should be, whatever is in its parts; the connection ends after it. */
export function request(line: string, headers: readonly (readonly [string, string])[], body?: Uint8Array): Buffer {
  const length = body === undefined ? [] : [["Content-Length", String(body.length)] as const];
  const lines = [["Host", "127.0.0.1"] as const, ["Connection", "close"] as const, ...headers, ...length];
  const head = `${line} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body ?? Buffer.alloc(0)]);
}

/** Of a text that may be anything: what can stand in the value of a header. */
export function headerText(text: string): string {
  const bytes = Buffer.from(text, "utf8").map((byte) => (isHeaderByte(byte) ? byte : 0x3f));
  return Buffer.from(bytes).toString("latin1").trim();
}

export function isHeaderText(text: string): boolean {
  return Buffer.from(text, "latin1").every(isHeaderByte);
}

function isHeaderByte(byte: number): boolean {
  return byte === 0x09 || (byte >= 0x20 && byte !== 0x7f);
}
