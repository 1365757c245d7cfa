/**
 * The remote runtime of SWE-ReX, served by the daemon: its published client works with it unmodified, and no image needs Python for it. Loaded with the
 * first request, or once the sandbox is armed.
 * - `requests.ts`: what clients ask, - `bash-session.ts`, `expecter.ts`: sessions in terminals, - `programs.ts`: commands outside of them,
 * - `transfer.ts`, `unzip.ts`: files, - `python-error.ts`: errors as Python classes, - `once.ts`: repeated requests.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "#lib/clock.ts";
import { Accounts, type Account } from "#envd/accounts/accounts.ts";
import { accountOf } from "#envd/accounts/caller.ts";
import { resolvePath } from "#envd/accounts/resolve-path.ts";
import { isSameSecret } from "#envd-protocol/file-signature.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { readUnary } from "#envd/connect/request-body.ts";
import { chunksOf } from "#envd/connect/request-chunks.ts";
import { boundaryOf, readParts } from "#envd/files/multipart.ts";
import { commandEnvironment, sandboxVariables } from "#envd/process/environment.ts";
import { BashSession } from "./bash-session.ts";
import { Once, type Reply } from "./once.ts";
import { checkSyntax, execute, type ProgramDeps, startShell } from "./programs.ts";
import { PythonError, transferred } from "./python-error.ts";
import { Fields, InvalidBody, type Observation, parseAction, parseClose, parseCommand, parseCreate } from "./requests.ts";
import { readText, receiveUpload, writeText } from "./transfer.ts";

export interface SwerexDeps {
  readonly state: ArmedState;
  readonly clock: Clock;
  /** Where the helper is. */
  readonly helper: string;
  /** The user that sessions and commands run as; root if the image has no such user. */
  readonly user: string;
}

/** Each is a process with a terminal. */
const mostSessions = 64;
const shellVariables = { PS1: "SHELLPS1PREFIX", PS2: "", PS0: "" } as const;

const details = { 404: "Not Found", 405: "Method Not Allowed" } as const;

type Answer = (body: unknown) => Promise<object>;

export class SwerexService {
  readonly #deps: SwerexDeps;
  readonly #programs: ProgramDeps;
  readonly #accounts = new Accounts();
  readonly #sessions = new Map<string, BashSession>();
  readonly #once = new Once();

  constructor(deps: SwerexDeps) {
    this.#deps = deps;
    this.#programs = {
      ...deps,
      account: () => this.#account(),
      groupsOf: (account) => this.#accounts.groupsOf(account),
      env: (account) =>
        commandEnvironment({ own: process.env, account, sandbox: sandboxVariables(deps.state.sandboxId ?? "", deps.state.init.envVars) }),
    };
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#refusal(request);
    const reply = refusal ?? (await this.#once.answer(requestId(request), () => this.#reply(request)));
    response
      .writeHead(reply.status, { "content-type": "application/json", "content-length": Buffer.byteLength(reply.body) })
      .end(reply.body);
  }

  /** Checked before everything else, also before the path: a request without the key learns nothing. */
  #refusal({ headers }: IncomingMessage): Reply | undefined {
    const { accessToken = "" } = this.#deps.state.init;
    const key = headers["x-api-key"];
    if (accessToken === "") return undefined;
    if (typeof key !== "string" || key === "") return json(403, { detail: "Not authenticated" });
    return isSameSecret(key, accessToken) ? undefined : json(401, { detail: "Invalid API Key" });
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    try {
      const answer = this.#answerFor(request);
      return typeof answer === "number" ? json(answer, { detail: details[answer] }) : json(200, await answer());
    } catch (error) {
      if (error instanceof InvalidBody)
        return json(422, { detail: [{ type: "value_error", loc: ["body", error.field], msg: error.message }] });
      return json(511, transferred(error));
    }
  }

  #answerFor(request: IncomingMessage): (() => Promise<object>) | keyof typeof details {
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const [get, post] = [this.#gets[path], this.#posts[path]];
    if (request.method === "GET" && get !== undefined) return () => get(undefined);
    if (request.method === "POST" && post !== undefined) return async () => post(await bodyOf(request));
    if (path !== "/upload") return get === undefined && post === undefined ? 404 : 405;
    return request.method === "POST" ? () => this.#upload(request) : 405;
  }

  readonly #gets: Readonly<Record<string, Answer>> = {
    "/": async () => ({ message: "hello world" }),
    "/is_alive": async () => ({ is_alive: true, message: "" }),
  };

  readonly #posts: Readonly<Record<string, Answer>> = {
    "/create_session": async (body) => this.#create(body),
    "/run_in_session": async (body) => {
      const action = parseAction(body);
      const session = this.#find(action.session);
      return observed(await (action.kind === "bash" ? session.run(action) : session.interrupt(action)));
    },
    "/close_session": async (body) => {
      const name = parseClose(body);
      const session = this.#find(name);
      this.#sessions.delete(name);
      await session.close();
      return { session_type: "bash" };
    },
    "/execute": async (body) => {
      const { stdout, stderr, exitCode } = await execute(this.#programs, parseCommand(body));
      return { stdout, stderr, exit_code: exitCode };
    },
    "/read_file": async (body) => {
      const fields = new Fields(body);
      const optional = (name: string, usual: string): string => (fields.has(name) ? fields.text(name) : usual);
      const path = fields.text("path");
      const request = { path: this.#resolve(path), encoding: optional("encoding", "utf-8"), errors: optional("errors", "strict") };
      return { content: await readText(request).catch((error: unknown) => Promise.reject(withPath(error, path))) };
    },
    "/write_file": async (body) => {
      const fields = new Fields(body);
      await writeText(this.#resolve(fields.text("path")), fields.text("content"), this.#account());
      return {};
    },
    // The server goes on: a client closes its runtime when it has done its work, and another may come.
    "/close": async () => {
      const sessions = [...this.#sessions.values()];
      this.#sessions.clear();
      await Promise.all(sessions.map((session) => session.close()));
      return {};
    },
  };

  async #create(body: unknown): Promise<object> {
    const { session: name, sources, timeoutMs } = parseCreate(body);
    if (this.#sessions.has(name)) throw new PythonError("sessionExists", `session ${name} already exists`);
    if (this.#sessions.size >= mostSessions)
      throw new PythonError("memory", `there are ${mostSessions} sessions, which is the most; close one`);
    const session = new BashSession({
      clock: this.#deps.clock,
      start: () => startShell(this.#programs, shellVariables),
      checkSyntax: (command) => checkSyntax(this.#programs, command),
    });
    this.#sessions.set(name, session);
    try {
      const output = await session.start(sources, timeoutMs);
      // The session was closed while its shell was still starting.
      if (this.#sessions.get(name) !== session) {
        await session.close();
        throw new PythonError("noSession", `session '${name}' was closed while it started`);
      }
      return { output, session_type: "bash" };
    } catch (error) {
      if (this.#sessions.get(name) === session) this.#sessions.delete(name);
      throw error;
    }
  }

  async #upload(request: IncomingMessage): Promise<object> {
    const boundary = boundaryOf(request.headers["content-type"]);
    if (boundary === undefined) throw new InvalidBody("file", "Field required");
    await receiveUpload(readParts(chunksOf(request), boundary), (path) => this.#resolve(path), this.#account());
    return {};
  }

  #find(name: string): BashSession {
    const session = this.#sessions.get(name);
    if (session === undefined) throw new PythonError("noSession", `session '${name}' does not exist`);
    return session;
  }

  #account(): Account {
    const { user, state } = this.#deps;
    return this.#accounts.find(user) ?? accountOf(this.#accounts, state.init, "root");
  }

  #resolve(path: string): string {
    return resolvePath(path, this.#account(), undefined);
  }
}

function observed({ output, exitCode, expectString }: Observation): object {
  return { output, exit_code: exitCode ?? null, failure_reason: "", expect_string: expectString, session_type: "bash" };
}

/** Errors name the path as the client gave it. */
function withPath(error: unknown, path: string): unknown {
  return error instanceof Error && "path" in error ? Object.assign(error, { path }) : error;
}

function requestId({ headers }: IncomingMessage): string | undefined {
  const id = headers["x-request-id"];
  return typeof id === "string" ? id : undefined;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const bytes = await readUnary(request);
  if (bytes.length === 0) return {};
  try {
    return (JSON.parse(bytes.toString("utf8")) as unknown) ?? {};
  } catch {
    throw new InvalidBody("body", "JSON decode error");
  }
}

function json(status: number, value: unknown): Reply {
  return { status, body: JSON.stringify(value) };
}
