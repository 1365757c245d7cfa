/** Logs, commands and terminals. */
import { Type, type Static } from "typebox";
import { execSignals } from "#model/exec-signals.ts";
import { choice, text } from "#model/schema-builders.ts";
import { closed, containerName, named, open, optional, span, time } from "./builders.ts";

const tail = Type.Integer({ minimum: 0, maximum: 10_000, description: "Number of lines from the end; 1000 when left out." });
const since = span("Only lines written in this time before now. Lines from before the claim are never included.");

const source = text("stdout, or the name of a runtime whose template has a logDir; stdout when left out.", {
  minLength: 1,
  maxLength: 63,
});

export const logQuery = closed(
  { container: optional(containerName), source: optional(source), tail: optional(tail), since: optional(since) },
  "Selects a part of the log.",
);

export const logSchema = open(
  {
    lines: Type.Array(Type.String(), { description: "Oldest first." }),
    truncated: Type.Boolean({ description: "True if the log was too long for one answer; the oldest lines are missing." }),
  },
  "Output of the container.",
);

export const logLineSchema = named(
  "LogLine",
  Type.Union(
    [
      open(
        {
          line: text("One line, or one part of a very long line."),
          partial: optional(Type.Boolean({ description: "True if the line continues in the next object." })),
        },
        "A line.",
      ),
      open(
        {
          _meta: open(
            {
              reason: text(
                "ended: the sandbox or its container has ended. shutdown: the server shuts down; connect again. error: see code.",
              ),
              lines: Type.Integer({ description: "Number of lines sent." }),
              code: optional(text("An error code, as in a problem.")),
              message: optional(text("For people.")),
            },
            "Reason for the end of the stream.",
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
      description: "Environment variables to add.",
    }),
  ),
  user: optional(text("User that runs the command; the image's user when left out.", { minLength: 1, maxLength: 256 })),
  workingDir: optional(text("Working directory; the image's when left out.", { pattern: "^/", maxLength: 4096 })),
  container: optional(containerName),
};
const command = Type.Array(Type.String(), { minItems: 1, maxItems: 1024, description: "Program and arguments, run without a shell." });
const size = (what: string, most: number) => Type.Integer({ minimum: 1, maximum: most, description: what });

const terminalSize = {
  rows: optional(size("Height of the terminal; 24 when left out.", 1000)),
  cols: optional(size("Width of the terminal; 80 when left out.", 1000)),
};

export const execSchema = named(
  "RunCommand",
  closed(
    {
      command,
      ...program,
      stdin: optional(text("Standard input of the command.", { maxLength: 512 * 1024 })),
      stdinEncoding: optional(choice(["utf-8", "base64"], "Encoding of stdin; utf-8 when left out.")),
      timeout: optional(span("The command is ended after this time. 30s when left out, at most 5m; a stream has no limit.")),
    },
    "A command to run to its end.",
  ),
);

export const execStreamSchema = named(
  "StreamCommand",
  closed(
    { command, ...program, timeout: optional(span("The command is ended after this time. No limit when left out.")) },
    "A command whose input and output are streamed. The first message of the client.",
  ),
);

/** Text messages of the client after that; its input is sent as binary messages. */
export const execStreamInputSchema = Type.Union([
  closed({ type: Type.Literal("eof") }, "End of the input."),
  closed(
    { type: Type.Literal("signal"), signal: choice(execSignals, "Signal to send.") },
    "Sends a signal to the command and its process group.",
  ),
  closed(
    { type: Type.Literal("close"), stream: choice(["stdout", "stderr"], "Which.") },
    "Closes this output: the command gets SIGPIPE when it writes to it.",
  ),
]);

const encoding = choice(["utf-8", "base64"], "utf-8 if the bytes are valid UTF-8, else base64.");

export const execResultSchema = open(
  {
    exitCode: Type.Integer({
      description:
        "Exit code; 128 plus the signal number if a signal ended the command; 127 if the program does not exist, 126 if it cannot be run.",
    }),
    stdout: text("The first MiB of the output, in the encoding of stdoutEncoding."),
    stdoutEncoding: encoding,
    stdoutBytes: Type.Integer({ description: "Number of bytes written. If above 1048576, the rest is missing in this answer." }),
    stderr: text("Likewise."),
    stderrEncoding: encoding,
    stderrBytes: Type.Integer({ description: "Likewise." }),
    truncated: Type.Boolean({ description: "True if an output is cut in this answer. Use a stream to get all of it." }),
    startError: optional(text("Why the command could not be started; only with exit code 126 or 127.")),
  },
  "Result of the command.",
);

export const execTokenSchema = named(
  "OpenTerminal",
  closed(
    {
      command: optional(command),
      ...program,
      ...terminalSize,
    },
    "A terminal to open. Runs a shell if no command is given.",
  ),
);

export const keptTerminalSchema = named(
  "StartTerminal",
  closed(
    {
      command: optional(command),
      env: program.env,
      user: optional(text("User that runs the command; the sandbox's default user when left out.", { minLength: 1, maxLength: 256 })),
      workingDir: optional(text("Working directory; the user's home when left out.", { pattern: "^/", maxLength: 4096 })),
      ...terminalSize,
    },
    "A terminal to start. Runs a shell if no command is given.",
  ),
);

export const terminalSizeSchema = named("TerminalSize", closed(terminalSize, "Size of the client's screen."));

export const execTokenResultSchema = open(
  {
    token: text("Token that opens one terminal, once."),
    expiresAt: time("Expiry of the token."),
    path: text("Path and query of the WebSocket."),
  },
  "A token for opening a terminal.",
);

export const terminalQuery = closed(
  { token: text("Token from exec-token.", { minLength: 1, maxLength: 8192 }) },
  "The token that opens the terminal.",
);

/** Text messages of the client of a terminal; the terminal's output is sent as binary frames. */
export const terminalInputSchema = Type.Union([
  closed({ type: Type.Literal("stdin"), data: Type.String() }, "Typed."),
  closed({ type: Type.Literal("resize"), rows: size("Height.", 1000), cols: size("Width.", 1000) }, "Changes the size of the terminal."),
]);

export type LogQuery = Static<typeof logQuery>;
export type ExecBody = Static<typeof execSchema>;
export type ExecStreamBody = Static<typeof execStreamSchema>;
export type ExecResultBody = Static<typeof execResultSchema>;
export type ExecTokenBody = Static<typeof execTokenSchema>;
