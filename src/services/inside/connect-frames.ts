/** The messages of a Connect stream, as JSON: one byte of flags, four of length, then the message. */
import { GrowingBuffer } from "#lib/growing-buffer.ts";
import { ServiceError } from "../service-error.ts";

const endFlag = 2;
const headSize = 5;
/** More than a daemon puts into one message. */
const largest = 16 * 1024 * 1024;
const longestMessage = 10_000;

export function connectFrame(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(headSize);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** Each message in turn. Throws ServiceError when the stream says that it failed, breaks off, or is none. */
export async function* connectMessages<Message>(body: AsyncIterable<Buffer>): AsyncGenerator<Message, void> {
  const waiting = new GrowingBuffer();
  for await (const chunk of body) {
    waiting.add(chunk);
    const { frames, end, used } = wholeFrames(waiting.view());
    waiting.drop(used);
    for (const payload of frames) yield messageIn(payload) as Message;
    if (end !== undefined) return failIfSaid(end);
  }
  throw new ServiceError("unavailable", "the connection to the sandbox's daemon ended before the command did");
}

interface WholeFrames {
  readonly frames: readonly string[];
  /** What the end says, once it has come. */
  readonly end?: string;
  /** Bytes of them. */
  readonly used: number;
}

function wholeFrames(bytes: Buffer): WholeFrames {
  const frames: string[] = [];
  let at = 0;
  while (bytes.length - at >= headSize) {
    const length = bytes.readUInt32BE(at + 1);
    if (length > largest) throw new ServiceError("unavailable", `the sandbox's daemon announced a message of ${length} bytes`);
    const next = at + headSize + length;
    if (next > bytes.length) break;
    const payload = bytes.toString("utf8", at + headSize, next);
    if (((bytes[at] ?? 0) & endFlag) !== 0) return { frames, end: payload, used: next };
    frames.push(payload);
    at = next;
  }
  return { frames, used: at };
}

/** A sandbox's root can make its daemon send anything. */
function messageIn(payload: string): object {
  try {
    const message: unknown = JSON.parse(payload);
    if (typeof message === "object" && message !== null) return message;
  } catch {
    // Said below.
  }
  throw new ServiceError("unavailable", "the sandbox's daemon sent an invalid message");
}

const codes: Readonly<Partial<Record<string, "invalid_request" | "not_found" | "timeout" | "conflict">>> = {
  invalid_argument: "invalid_request",
  not_found: "not_found",
  deadline_exceeded: "timeout",
  failed_precondition: "conflict",
  // Its token is ours and right: what the daemon does not know is the user.
  unauthenticated: "invalid_request",
};

interface EndMessage {
  readonly error?: { readonly code?: unknown; readonly message?: unknown } | null;
}

function failIfSaid(payload: string): void {
  const { error } = messageIn(payload === "" ? "{}" : payload) as EndMessage;
  if (error === undefined || error === null) return;
  const { code, message } = error;
  const words = typeof message === "string" ? message.slice(0, longestMessage) : "the sandbox's daemon gave up the command";
  throw new ServiceError(codes[String(code)] ?? "unavailable", words);
}
