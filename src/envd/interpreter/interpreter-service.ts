/**
 * Runs pieces of code one after the other and streams the results, as the code-interpreter SDKs expect. A part of the daemon that is loaded at the first
 * request (ADR 31).
 * - `execute-request.ts`: requests, - `context.ts`, `kernel.ts`: where code runs, - `languages.ts`, `bash-lines.ts`, `runners/`: how each language runs
 * it, - `frame-reader.ts`, `runner-message.ts`: messages of runners, - `execution-stream.ts`, `ascii-json.ts`: answers to clients.
 */
import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "#lib/clock.ts";
import { Accounts } from "#envd/accounts/accounts.ts";
import { accountOf } from "#envd/accounts/caller.ts";
import { resolvePath } from "#envd/accounts/resolve-path.ts";
import { hasAnyToken, hasToken } from "#envd/armed/access-token.ts";
import { allowBrowsers } from "#envd/armed/browsers.ts";
import { sendJson } from "#envd/armed/http-answer.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { readUnary } from "#envd/connect/request-body.ts";
import { commandEnvironment, sandboxVariables } from "#envd/process/environment.ts";
import { Context } from "./context.ts";
import { parseContext, parseExecute } from "./execute-request.ts";
import { ExecutionStream } from "./execution-stream.ts";
import { Kernel } from "./kernel.ts";
import type { Language } from "./languages.ts";

export interface InterpreterDeps {
  readonly state: ArmedState;
  readonly clock: Clock;
  /** Where the helper is. */
  readonly helper: string;
  /** The folder with the runners of the languages. */
  readonly programs: string;
}

/** Above this number, a context must be removed before another is created: a used context costs memory. */
const mostContexts = 256;
/** Exists from the beginning; contexts of other languages are created at their first request. */
const firstLanguages: readonly Language[] = ["python", "javascript"];

export class InterpreterService {
  readonly #deps: InterpreterDeps;
  readonly #accounts = new Accounts();
  readonly #contexts = new Map<string, Context>();
  readonly #byLanguage = new Map<Language, Context>();

  constructor(deps: InterpreterDeps) {
    this.#deps = deps;
    for (const language of firstLanguages) this.#ofLanguage(language);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (allowBrowsers(request, response)) return;
    const { route, id } = routeOf(request);
    if (route === "GET /health") return sendJson(response, 200, "OK");
    if (!hasAnyToken(this.#deps.state, request)) {
      return sendText(response, 401, "the header X-Access-Token or E2B-Traffic-Access-Token must carry the sandbox's token");
    }
    switch (route) {
      case "POST /execute":
        return this.#execute(request, response);
      case "GET /contexts":
        return this.#list(response);
      case "POST /contexts":
        return this.#create(request, response);
      case "DELETE /contexts/id":
        return this.#end(id, response, true);
      case "POST /contexts/id/restart":
        return this.#end(id, response, false);
      default:
        return sendText(response, 404, `there is nothing at ${route}`);
    }
  }

  async #execute(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!hasToken(this.#deps.state, request)) return sendText(response, 401, "the header X-Access-Token must carry the sandbox's token");
    const body = await readJson(request);
    const wanted = typeof body === "string" ? body : parseExecute(body.value);
    if (typeof wanted === "string") return sendText(response, 400, wanted);
    const context = "language" in wanted.in ? this.#ofLanguage(wanted.in.language) : this.#contexts.get(wanted.in.contextId);
    if (context === undefined) return sendText(response, 404, noContext("contextId" in wanted.in ? wanted.in.contextId : ""));
    const stream = new ExecutionStream(response, this.#deps.clock);
    await context.execute(wanted, stream, stream.gone);
    stream.end();
  }

  #list(response: ServerResponse): void {
    const all = [...this.#contexts.values()].map(({ facts }) => facts);
    sendJson(response, 200, all);
  }

  async #create(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request);
    const wanted = typeof body === "string" ? body : parseContext(body.value);
    if (typeof wanted === "string") return sendText(response, 400, wanted);
    if (this.#contexts.size >= mostContexts)
      return sendText(response, 429, `there are ${mostContexts} contexts, which is the most; remove one`);
    const cwd = this.#folder(wanted.cwd);
    if (wanted.cwd !== undefined && statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
      return sendText(response, 400, `cwd '${cwd}' is not a folder of this sandbox`);
    }
    sendJson(response, 200, this.#add(wanted.language, cwd).facts);
  }

  async #end(id: string, response: ServerResponse, isRemoved: boolean): Promise<void> {
    const context = this.#contexts.get(id);
    if (context === undefined) return sendText(response, 404, noContext(id));
    if (isRemoved) {
      this.#contexts.delete(id);
      if (this.#byLanguage.get(context.facts.language) === context) this.#byLanguage.delete(context.facts.language);
    }
    await context.restart();
    response.writeHead(204).end();
  }

  #ofLanguage(language: Language): Context {
    const context = this.#byLanguage.get(language) ?? this.#add(language, this.#folder(undefined));
    this.#byLanguage.set(language, context);
    return context;
  }

  #add(language: Language, cwd: string): Context {
    const facts = { id: randomUUID(), language, cwd };
    const context = new Context(facts, this.#deps.clock, () => this.#start(language, cwd));
    this.#contexts.set(facts.id, context);
    return context;
  }

  /** As the sandbox's user, with the sandbox's current variables. */
  #start(language: Language, cwd: string): Promise<Kernel> {
    const { state, clock, programs, helper } = this.#deps;
    const account = accountOf(this.#accounts, state.init, undefined);
    const sandbox = sandboxVariables(state.sandboxId ?? "", state.init.envVars);
    const env = commandEnvironment({ own: process.env, account, sandbox });
    const as = { env, account, groups: this.#accounts.groupsOf(account), cwd, needsCwd: true };
    return Kernel.start({ language, clock, programs, helper, state, as });
  }

  #folder(cwd: string | undefined): string {
    const { init } = this.#deps.state;
    return resolvePath(cwd ?? "", accountOf(this.#accounts, init, undefined), init.defaultWorkdir);
  }
}

/** Method and path, with `id` in place of a context's id. */
function routeOf({ method, url = "/" }: IncomingMessage): { readonly route: string; readonly id: string } {
  const path = url.split("?", 1)[0] ?? "/";
  const id = /^\/contexts\/([^/]+)/.exec(path)?.[1] ?? "";
  return { route: `${method} ${id === "" ? path : path.replace(id, "id")}`, id };
}

function noContext(id: string): string {
  return `Context ${id} not found`;
}

/** The body, or an error message. */
async function readJson(request: IncomingMessage): Promise<{ readonly value: unknown } | string> {
  try {
    const bytes = await readUnary(request);
    return { value: bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8")) };
  } catch (error) {
    if (error instanceof ConnectError) return error.message;
    if (error instanceof SyntaxError) return `the body is not JSON: ${error.message}`;
    throw error;
  }
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
}
