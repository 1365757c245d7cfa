/** Code in the interpreter of a sandbox, which keeps names between calls. */
import { GrowingBuffer } from "#lib/growing-buffer.ts";
import { ServiceError } from "../service-error.ts";
import { type DaemonDoor, refusalOf } from "./daemon-door.ts";

export interface RunCode {
  readonly code: string;
  readonly language?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface CodeResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Values that the code showed: by MIME-like names, such as `text`, `html` and `png` (base64). */
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly error?: { readonly name: string; readonly value: string; readonly traceback: string };
  /** More came than is kept; the code was interrupted. */
  readonly truncated: boolean;
}

/** What is kept of an execution, in bytes of its events: pictures are megabytes. */
const mostBytes = 16 * 1024 * 1024;

interface Collected {
  stdout: string;
  stderr: string;
  readonly results: Readonly<Record<string, unknown>>[];
  error?: NonNullable<CodeResult["error"]>;
}

type CodeEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** The interpreter interrupts code whose client goes away, so the signal ends it. */
export async function runCode(door: DaemonDoor, { code, language, env }: RunCode, signal: AbortSignal): Promise<CodeResult> {
  const port = door.interpreterPort;
  if (port === undefined) {
    const message = "this sandbox has no code interpreter: create one from a pool whose template has it, such as code-interpreter-v1";
    throw new ServiceError("invalid_request", message, { field: "sandboxId" });
  }
  const body = JSON.stringify({ code, ...(language !== undefined && { language }), ...(env && { env_vars: env }) });
  const headers = { "content-type": "application/json" };
  const answer = await door.ask({ method: "POST", path: "/execute", headers, body }, signal, port);
  if (answer.status !== 200) throw await refusalOf(answer);
  const collected: Collected = { stdout: "", stderr: "", results: [] };
  let isEnded = false;
  for await (const line of linesOf(answer.body)) {
    if (line === undefined) return { ...collected, truncated: true };
    const event = eventIn(line);
    isEnded ||= event.type === "end_of_execution";
    add(collected, event);
  }
  if (!isEnded && collected.error === undefined)
    throw new ServiceError("unavailable", "the sandbox's interpreter ended before the code did");
  return { ...collected, truncated: false };
}

function eventIn(line: string): CodeEvent {
  try {
    const event: unknown = JSON.parse(line);
    if (typeof event === "object" && event !== null) return event as CodeEvent;
  } catch {
    // Said below.
  }
  throw new ServiceError("unavailable", "the sandbox's interpreter sent an invalid event");
}

function add(collected: Collected, { type, ...event }: CodeEvent): void {
  if (type === "stdout" || type === "stderr") collected[type] += text(event["text"]);
  else if (type === "result") collected.results.push(event);
  else if (type === "error") {
    collected.error = { name: text(event["name"]), value: text(event["value"]), traceback: text(event["traceback"]) };
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Of a program that the sandbox's user may have replaced: a line may have no end. Undefined: more came than is taken. */
async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string | undefined, void> {
  const waiting = new GrowingBuffer();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > mostBytes) {
      yield undefined;
      return;
    }
    const end = chunk.lastIndexOf(newline) + 1;
    const from = waiting.size;
    waiting.add(chunk);
    if (end === 0) continue;
    const lines = waiting
      .view()
      .toString("utf8", 0, from + end)
      .split("\n");
    waiting.drop(from + end);
    for (const line of lines) if (line !== "") yield line;
  }
}

const newline = 10;
