/**
 * The JavaScript and TypeScript side of a context: a separate program whose global scope lives as long as it runs. It uses the protocol of
 * python_runner.py. Code is evaluated in V8's REPL mode, which allows `await` at top level and redeclaring names.
 * `javascript-listener.ts`: the second thread, which receives requests and interrupts; `javascript-imports.ts`: rewrites import statements.
 */
import { Session } from "node:inspector";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { Readable } from "node:stream";
import { inspect } from "node:util";
import { constants, runInThisContext, Script } from "node:vm";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { importName, withoutImports } from "./javascript-imports.ts";
import { type Heard, listen, resting, running } from "./javascript-listener.ts";

interface Request {
  readonly code: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A value as the inspector describes it. */
interface RemoteValue {
  readonly objectId?: string;
  readonly unserializableValue?: string;
  readonly value?: unknown;
}

interface Evaluated {
  readonly result: RemoteValue;
  readonly exceptionDetails?: { readonly exception?: RemoteValue };
}

type Bundle = Readonly<Record<string, unknown>>;

const [, , mark = "", language = "javascript"] = process.argv;
const showsItself = Symbol.for("Jupyter.display");
// Writes up to this size are not interleaved with other writes to the same pipe.
const pieceSize = 4000;
const out = process.stdout.write.bind(process.stdout);
const err = process.stderr.write.bind(process.stderr);
const session = new Session();
const state = new Int32Array(new SharedArrayBuffer(4));
const exit = process.exit.bind(process);
let interrupt: ((reason: Error) => void) | undefined;

class Interrupted extends Error {
  override readonly name = "Interrupted";
}

class ProcessExit extends Error {
  override readonly name = "ProcessExit";
}

function send(message: object): void {
  const bytes = Buffer.from(JSON.stringify(message));
  for (let at = 0; at < bytes.length; at += pieceSize) {
    const isLast = at + pieceSize >= bytes.length;
    out(Buffer.concat([Buffer.from(`\0${mark}${isLast ? "." : "+"}`), bytes.subarray(at, at + pieceSize), Buffer.from("\n")]));
  }
}

function sendEnd(): void {
  send({ type: "end" });
  err(`\0${mark}.{"type":"end"}\n`);
}

/** A script, in which braces at the beginning are an object and not a block. */
function prepared(code: string): string {
  const script = withoutImports(language === "typescript" ? stripTypeScriptTypes(code) : code);
  if (!/^\s*\{[\s\S]*\}\s*$/.test(script)) return script;
  try {
    return new Script(`(${script}\n)`) instanceof Script ? `(${script}\n)` : script;
  } catch {
    return script;
  }
}

function evaluate(code: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    interrupt = reject;
    const start = (): void =>
      session.post("Runtime.evaluate", { expression: code, replMode: true, silent: true }, (error, evaluated) => {
        if (error !== null) reject(new Interrupted("the execution was interrupted"));
        // The types of node:inspector do not describe the result.
        else settle(evaluated as unknown as Evaluated, resolve, reject);
      });
    // In a separate turn: an interrupt ends all code on the stack, which must not include the caller that waits for the value.
    setImmediate(start);
  });
}

function settle({ result, exceptionDetails }: Evaluated, resolve: (value: unknown) => void, reject: (reason: unknown) => void): void {
  const { objectId, unserializableValue, value } = exceptionDetails?.exception ?? result;
  const argument = objectId === undefined ? (unserializableValue === undefined ? { value } : { unserializableValue }) : { objectId };
  const take = {
    functionDeclaration: "function (value) { globalThis.__agentboxTake(value); }",
    arguments: [argument],
    executionContextId: 1,
  };
  Reflect.set(globalThis, "__agentboxTake", exceptionDetails === undefined ? (own: unknown) => resolve([own]) : reject);
  session.post("Runtime.callFunctionOn", take, (error) => {
    if (error !== null) reject(error);
  });
}

function bundleOf(value: unknown): Bundle {
  const shown = typeof value === "object" && value !== null ? (Reflect.get(value, showsItself) as unknown) : undefined;
  const own = typeof shown === "function" ? (Reflect.apply(shown, value, []) as Bundle) : {};
  return { "text/plain": inspect(value), ...own };
}

/** The code may throw anything; the stack frames below the code are ours. */
function errorMessage(thrown: unknown): object {
  const isError = thrown instanceof Error || (typeof thrown === "object" && thrown !== null && "stack" in thrown && "message" in thrown);
  const { name, message, stack } = isError ? (thrown as Error) : { name: "Error", message: inspect(thrown), stack: undefined };
  const lines = (stack ?? `${name}: ${message}`).split("\n");
  const ours = lines.findIndex((line) => line.includes("node:inspector") || line.includes("javascript-runner"));
  return { type: "error", name, value: message, traceback: (ours < 0 ? lines : lines.slice(0, ours)).join("\n") };
}

async function run({ code, env }: Request): Promise<void> {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);
  Atomics.store(state, 0, running);
  try {
    // In a list, because a promise as the value would be awaited again.
    const [value] = (await evaluate(prepared(code))) as readonly unknown[];
    if (value !== undefined) send({ type: "result", bundle: bundleOf(value), main: true });
  } catch (thrown) {
    send(errorMessage(thrown));
  }
  interrupt = undefined;
  Atomics.store(state, 0, resting);
  Atomics.notify(state, 0);
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function importModule(name: string): unknown {
  // Modules are resolved from the working folder.
  const options = { importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER, filename: join(process.cwd(), "run.mjs") };
  return (runInThisContext("(name) => import(name)", options) as (name: string) => unknown)(name);
}

function display(...values: readonly unknown[]): void {
  for (const value of values) send({ type: "result", bundle: bundleOf(value), main: false });
}

function offerGlobals(): void {
  for (const [name, value] of Object.entries({
    [importName]: importModule,
    display,
    require: createRequire(join(process.cwd(), "run.cjs")),
  })) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  process.exit = (code) => {
    throw new ProcessExit(`process.exit(${code ?? ""}) ends the run, and not the context`);
  };
}

function heard(said: Heard): void {
  if (said.kind === "interrupt") interrupt?.(new Interrupted("the execution was interrupted"));
  if (said.kind === "request") void run(JSON.parse(said.line) as Request).then(sendEnd);
}

function main(): void {
  // The code's input is empty; the requests are ours.
  Object.defineProperty(process, "stdin", { value: Readable.from([]), configurable: true });
  session.connect();
  offerGlobals();
  // For the programs that the code has started; the runner itself gets requests in another way.
  process.on("SIGINT", () => {});
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => err(`Uncaught ${inspect(thrown)}\n`));
  }
  const listener = new Worker(process.argv[1] ?? "", { workerData: state });
  listener.on("message", heard);
  listener.once("exit", () => exit());
  sendEnd();
}

if (isMainThread) main();
else if (parentPort !== null) void listen(parentPort, workerData as Int32Array);
