/** Logs, commands and terminals. */
import { Type, type Static } from "typebox";
import { execSignals } from "#model/exec-signals.ts";
import { choice, text } from "#model/schema-builders.ts";
import { closed, containerName, named, open, optional, span, time } from "./builders.ts";

const tail = Type.Integer({ minimum: 0, maximum: 10_000, description: "Only so many lines from the end; 1000 when left out." });
const since = span("Only what was written in this last while. Never more than since the claim.");

const source = text("stdout, or the name of a runtime whose template has a logDir; stdout when left out.", {
  minLength: 1,
  maxLength: 63,
});

export const logQuery = closed(
  { container: optional(containerName), source: optional(source), tail: optional(tail), since: optional(since) },
  "Which part of the log.",
);

export const logSchema = open(
  {
    lines: Type.Array(Type.String(), { description: "Oldest first." }),
    truncated: Type.Boolean({ description: "True when there was more than an answer holds; the oldest of it is missing." }),
  },
  "What the container wrote.",
);

export const logLineSchema = named(
  "LogLine",
  Type.Union(
    [
      open(
        {
          line: text("One line, or a part of a very long one."),
          partial: optional(Type.Boolean({ description: "True when the line goes on." })),
        },
        "A line.",
      ),
      open(
        {
          _meta: open(
            {
              reason: text("ended: the sandbox or its container has ended. shutdown: the server ends; ask again. error: see code."),
              lines: Type.Integer({ description: "How many lines were sent." }),
              code: optional(text("As in a problem.")),
              message: optional(text("For people.")),
            },
            "Why the stream ends.",
          ),
        },
        "The last line.",
      ),
    ],
    { description: "One line of the stream." },
  ),
);

const program = {
  env: optional(
    Type.Record(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }), Type.String(), {
      additionalProperties: false,
      description: "Added to its environment.",
    }),
  ),
  user: optional(text("The user that it runs as; the image's own user when left out.", { minLength: 1, maxLength: 256 })),
  workingDir: optional(text("Where it runs; the image's own when left out.", { pattern: "^/", maxLength: 4096 })),
  container: optional(containerName),
};
const command = Type.Array(Type.String(), { minItems: 1, maxItems: 1024, description: "Program and arguments, run without a shell." });
const size = (what: string, most: number) => Type.Integer({ minimum: 1, maximum: most, description: what });

export const execSchema = named(
  "RunCommand",
  closed(
    {
      command,
      ...program,
      stdin: optional(text("Given to it as its input.", { maxLength: 512 * 1024 })),
      stdinEncoding: optional(choice(["utf-8", "base64"], "How stdin is written; utf-8 when left out.")),
      timeout: optional(span("It is ended after this time. 30s when left out, 5m at most; a stream has no limit.")),
    },
    "A command that is run to its end.",
  ),
);

export const execStreamSchema = named(
  "StreamCommand",
  closed(
    { command, ...program, timeout: optional(span("It is ended after this time. Never when left out.")) },
    "A command whose streams are passed on. The first message that the client sends.",
  ),
);

/** What the client of a streamed command may send after that, as text; its input are the binary messages. */
export const execStreamInputSchema = Type.Union([
  closed({ type: Type.Literal("eof") }, "There is no more input."),
  closed({ type: Type.Literal("signal"), signal: choice(execSignals, "Which.") }, "A signal for the command and its process group."),
  closed(
    { type: Type.Literal("close"), stream: choice(["stdout", "stderr"], "Which.") },
    "Nothing reads this output any more: the command gets SIGPIPE when it writes to it.",
  ),
]);

const encoding = choice(["utf-8", "base64"], "utf-8 where the bytes are that, else base64.");

export const execResultSchema = open(
  {
    exitCode: Type.Integer({
      description: "128 and the signal when a signal ended it; 127 when there is no such program, 126 when it cannot be run.",
    }),
    stdout: text("What it wrote, the first MiB, written as stdoutEncoding says."),
    stdoutEncoding: encoding,
    stdoutBytes: Type.Integer({ description: "How many bytes it wrote. More than 1048576: the rest is missing here." }),
    stderr: text("Likewise."),
    stderrEncoding: encoding,
    stderrBytes: Type.Integer({ description: "Likewise." }),
    truncated: Type.Boolean({ description: "True when it wrote more to one of them than is answered here. A stream has all of it." }),
    startError: optional(text("Why it could not be started; only with exit code 126 or 127.")),
  },
  "What became of the command.",
);

export const execTokenSchema = named(
  "OpenTerminal",
  closed(
    {
      command: optional(command),
      ...program,
      rows: optional(size("Height of the terminal; 24 when left out.", 1000)),
      cols: optional(size("Width of the terminal; 80 when left out.", 1000)),
    },
    "A terminal to be opened. A shell when no command is given.",
  ),
);

export const execTokenResultSchema = open(
  {
    token: text("For one terminal, once."),
    expiresAt: time("Until when it can be used."),
    path: text("Path and query of the WebSocket."),
  },
  "A right to open a terminal.",
);

export const terminalQuery = closed({ token: text("From exec-token.", { minLength: 1, maxLength: 8192 }) }, "The right to open it.");

/** What the client of a terminal may send, as text; what the terminal writes comes to it as binary frames. */
export const terminalInputSchema = Type.Union([
  closed({ type: Type.Literal("stdin"), data: Type.String() }, "Typed."),
  closed({ type: Type.Literal("resize"), rows: size("Height.", 1000), cols: size("Width.", 1000) }, "The terminal has another size."),
]);

export type LogQuery = Static<typeof logQuery>;
export type ExecBody = Static<typeof execSchema>;
export type ExecStreamBody = Static<typeof execStreamSchema>;
export type ExecResultBody = Static<typeof execResultSchema>;
export type ExecTokenBody = Static<typeof execTokenSchema>;
