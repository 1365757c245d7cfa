/** Translates messages of runners for clients. Pure. */

export type RunnerMessage =
  | { readonly type: "result"; readonly bundle: Readonly<Record<string, unknown>>; readonly main: boolean }
  | { readonly type: "error"; readonly name: string; readonly value: string; readonly traceback: string }
  | { readonly type: "end"; readonly status?: number };

export type ExecutionEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** Names of result kinds as clients know them. */
const formats: Readonly<Record<string, string>> = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "image/svg+xml": "svg",
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/pdf": "pdf",
  "text/latex": "latex",
  "application/json": "json",
  "application/javascript": "javascript",
  "e2b/data": "data",
  "e2b/chart": "chart",
};

/** Undefined if it is no message of a runner: then the code has written it. */
export function parseMessage(text: string): RunnerMessage | undefined {
  try {
    const message = JSON.parse(text, asWritten) as Partial<RunnerMessage> | null;
    const isOurs =
      message?.type === "end" || message?.type === "error" || (message?.type === "result" && typeof message.bundle === "object");
    return isOurs ? (message as RunnerMessage) : undefined;
  } catch {
    return undefined;
  }
}

/** Numbers that JavaScript would write otherwise keep their text: `1.0` is a float for Python's clients, and long integers are exact. */
function asWritten(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === "number" && source !== undefined && String(value) !== source ? rawJson(source) : value;
}

// TypeScript's library does not have it yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(this: void, text: string): unknown };

/** Undefined if there is nothing to report. */
export function eventOf(message: RunnerMessage): ExecutionEvent | undefined {
  if (message.type === "result") return resultEvent(message.bundle, message.main);
  if (message.type === "error") return { type: "error", name: message.name, value: message.value, traceback: message.traceback };
  const { status = 0 } = message;
  if (status === 0) return undefined;
  const value = `exit status ${status}`;
  return { type: "error", name: "CommandFailed", value, traceback: `the last command ended with ${value}` };
}

export function resultEvent(bundle: Readonly<Record<string, unknown>>, isMain: boolean): ExecutionEvent {
  const known: Record<string, unknown> = {};
  const extra: Record<string, unknown> = {};
  for (const [kind, value] of Object.entries(bundle)) {
    if (value === null || value === undefined) continue;
    const format = Object.hasOwn(formats, kind) ? formats[kind] : undefined;
    if (format === undefined) extra[kind] = value;
    else known[format] = format === "text" ? textOf(value) : value;
  }
  return { type: "result", ...known, ...(Object.keys(extra).length === 0 ? {} : { extra }), is_main_result: isMain };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? unquoted(value) : JSON.stringify(value);
}

/** A text is shown as it is, not as a literal. */
function unquoted(text: string): string {
  const [first] = text;
  return text.length > 1 && (first === "'" || first === '"') && text.endsWith(first) ? text.slice(1, -1) : text;
}
