/** Tools that run something in a sandbox. */
import { randomUUID } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { clip, Collected } from "./clip.ts";
import { input, sandboxId, texts, whole } from "./inputs.ts";
import { mcpLimits } from "./limits.ts";
import type { CodeOutcome, CommandEnd, StartWish } from "./sandboxes.ts";
import { failedResult, textResult, tool, type ToolCall, ToolFailure } from "./tool.ts";

/** bash where there is one: models write for it. */
const shell = 'if command -v bash >/dev/null 2>&1; then exec bash -c "$1"; fi; exec sh -c "$1"';
/** Output and exit code go to files; $1 is the command, $2 the file. */
const background =
  'mkdir -p "${2%/*}" && exec >"$2" 2>&1 </dev/null; ' +
  'if command -v bash >/dev/null 2>&1; then bash -c "$1"; else sh -c "$1"; fi; echo $? >"$2.exit"';
const outputFolder = "/tmp/agentbox-mcp";

const runCommand = tool({
  name: "run_command",
  title: "Run a command",
  description:
    "Runs a shell command in the sandbox and waits for its end: exit code, stdout and stderr. Long outputs are cut in the middle and kept in a " +
    "file of the sandbox for read_file. With background true it returns at once with the process id and the files for output and exit code.",
  destructive: true,
  input: input({
    sandboxId,
    command: Type.String({ minLength: 1, maxLength: 100_000, description: "For bash, or sh where the sandbox has no bash" }),
    workingDir: Type.Optional(Type.String({ minLength: 1, description: "The user's home folder when left out" })),
    user: Type.Optional(Type.String({ minLength: 1, description: "User of the sandbox, such as root" })),
    envVars: Type.Optional(texts("Environment, beside the sandbox's own")),
    stdin: Type.Optional(Type.String({ maxLength: 1024 * 1024, description: "Its input; none when left out" })),
    timeoutSeconds: whole("It is killed after so long; not in the background", mcpLimits.timeout),
    background: Type.Optional(Type.Boolean({ default: false, description: "Start it and do not wait, for servers and long work" })),
  }),
  run: async (wish, call) => {
    const { command, user, workingDir, envVars: env, background: inBackground = false } = wish;
    const place = withoutUndefined({ user, workingDir, env });
    if (inBackground) {
      if (wish.stdin !== undefined)
        throw new ToolFailure("a command in the background has no stdin: write a file and use < in the command");
      return await startInBackground(wish.sandboxId, command, place, call);
    }
    return await runToEnd({ ...wish, place }, call);
  },
});

type Place = Omit<StartWish, "argv">;

async function startInBackground(id: string, command: string, place: Place, { sandboxes, signal }: ToolCall): Promise<CallToolResult> {
  const file = `${outputFolder}/${randomUUID().slice(0, 8)}.log`;
  const pid = await sandboxes.start(id, { argv: ["/bin/sh", "-c", background, "sh", command, file], ...place }, signal);
  return textResult(
    `started in the background, process ${pid}\noutput: ${file} (read_file)\nexit code, once it has ended: ${file}.exit\nto end it: run_command "pkill -P ${pid}"`,
  );
}

interface RunWish {
  readonly sandboxId: string;
  readonly command: string;
  readonly stdin?: string;
  readonly timeoutSeconds?: number;
  readonly place: Place;
}

async function runToEnd(wish: RunWish, call: ToolCall): Promise<CallToolResult> {
  const { sandboxId: id, command, stdin, timeoutSeconds = mcpLimits.timeout.usual, place } = wish;
  const outputs = { stdout: new Collected(mcpLimits.keptOutput), stderr: new Collected(mcpLimits.keptOutput) };
  const end = await call.sandboxes.run(
    id,
    {
      argv: ["/bin/sh", "-c", shell, "sh", command],
      timeoutMs: timeoutSeconds * 1000,
      onOutput: (stream, bytes) => {
        outputs[stream].add(bytes);
        call.progress(clip(bytes, 2048).text);
      },
      ...place,
      ...withoutUndefined({ stdin }),
    },
    call.signal,
  );
  const parts = [endText(end, timeoutSeconds)];
  for (const name of ["stdout", "stderr"] as const) parts.push(...(await outputText(id, name, outputs[name], call)));
  const text = parts.join("\n");
  return end.exitCode === 0 && !end.timedOut ? textResult(text) : failedResult(text);
}

function endText({ exitCode, timedOut, status }: CommandEnd, timeoutSeconds: number): string {
  if (timedOut) {
    return `the command was killed after ${timeoutSeconds} s: give it more timeoutSeconds (at most ${mcpLimits.timeout.most}), or background true`;
  }
  return status === undefined ? `exit code ${exitCode}` : `ended by ${status}`;
}

/** What is too long to show is put where it can be read on. */
async function outputText(
  id: string,
  name: string,
  output: Collected,
  { sandboxes, session, signal }: ToolCall,
): Promise<readonly string[]> {
  const { bytes, lost } = output;
  if (bytes.length === 0) return [];
  const { text, left } = clip(bytes, mcpLimits.shownOutput);
  if (left === 0 && lost === 0) return [`${name}:`, text];
  if (session.readOnly) return [`${name} (${left + lost} bytes are not shown):`, text];
  const file = `${outputFolder}/${randomUUID().slice(0, 8)}.${name}`;
  await sandboxes.writeFile(id, file, bytes, signal);
  const missing = lost === 0 ? "" : `; ${lost} bytes beyond it were dropped: write large outputs to a file`;
  return [`${name} (cut; all of its first ${bytes.length} bytes are in ${file}, for read_file${missing}):`, text];
}

const runCode = tool({
  name: "run_code",
  title: "Run code in the interpreter",
  description:
    "Runs code in the sandbox's code interpreter, which keeps names between calls: output, the value of the last expression, pictures, errors. " +
    "For sandboxes of the pool code-interpreter-v1, and others whose template has a code interpreter.",
  destructive: true,
  input: input({
    sandboxId,
    code: Type.String({ minLength: 1, maxLength: 1024 * 1024 }),
    language: Type.Optional(
      Type.Enum(["python", "javascript", "typescript", "bash"], { default: "python", description: "python when left out" }),
    ),
    timeoutSeconds: whole("It is interrupted after so long", mcpLimits.timeout),
  }),
  run: async ({ sandboxId: id, code, language, timeoutSeconds = mcpLimits.timeout.usual }, { sandboxes, signal }) => {
    const wish = { code, timeoutMs: timeoutSeconds * 1000, ...withoutUndefined({ language }) };
    return codeResult(await sandboxes.runCode(id, wish, signal));
  },
});

/** Its text, and its pictures. */
function resultContent(result: Readonly<Record<string, unknown>>): CallToolResult["content"] {
  const text = ["text", "markdown", "html", "json", "svg"].map((form) => result[form]).find((form) => form !== undefined && form !== null);
  const words = typeof text === "string" ? text : JSON.stringify(text ?? "");
  const shown =
    text === undefined ? [] : [{ type: "text" as const, text: `result:\n${clip(Buffer.from(words), mcpLimits.shownOutput).text}` }];
  const pictures = (["png", "jpeg"] as const).flatMap((form): CallToolResult["content"] => {
    const data = result[form];
    if (typeof data !== "string") return [];
    const note = `(a picture of ${data.length} bytes in base64 is not shown: save it to a file, and download_file)`;
    if (data.length > mcpLimits.picture) return [{ type: "text" as const, text: note }];
    return [{ type: "image" as const, data: data.replaceAll(/\s/g, ""), mimeType: `image/${form}` }];
  });
  return [...shown, ...pictures];
}

/** Pure. */
export function codeResult(outcome: CodeOutcome): CallToolResult {
  const content: CallToolResult["content"] = [];
  const say = (title: string, text: string): void => {
    if (text !== "") content.push({ type: "text", text: `${title}${clip(Buffer.from(text), mcpLimits.shownOutput).text}` });
  };
  say("stdout:\n", outcome.stdout);
  say("stderr:\n", outcome.stderr);
  for (const result of outcome.results) content.push(...resultContent(result));
  if (outcome.error !== undefined)
    say("error:\n", outcome.error.traceback === "" ? `${outcome.error.name}: ${outcome.error.value}` : outcome.error.traceback);
  if (outcome.truncated) say("", "the code wrote more than is taken, and was interrupted: write large outputs to a file");
  if (content.length === 0) content.push({ type: "text", text: "(no output)" });
  return { content, ...((outcome.error !== undefined || outcome.truncated) && { isError: true }) };
}

export const commandTools = [runCommand, runCode] as const;
