/** Requests of SWE-ReX's client, checked. Pure. */

export interface CreateSession {
  readonly session: string;
  readonly sources: readonly string[];
  readonly timeoutMs: number;
}

export interface BashAction {
  readonly kind: "bash";
  readonly session: string;
  readonly command: string;
  readonly timeoutMs: number | undefined;
  readonly isInteractiveCommand: boolean;
  readonly isInteractiveQuit: boolean;
  readonly check: "silent" | "raise" | "ignore";
  readonly errorMessage: string;
  readonly expect: readonly string[];
}

export interface InterruptAction {
  readonly kind: "interrupt";
  readonly session: string;
  readonly timeoutMs: number;
  readonly tries: number;
  readonly expect: readonly string[];
}

export interface Observation {
  readonly output: string;
  readonly exitCode: number | undefined;
  readonly expectString: string;
}

export interface ExecuteCommand {
  readonly command: string | readonly string[];
  readonly timeoutMs: number | undefined;
  readonly isShell: boolean;
  readonly isChecked: boolean;
  readonly errorMessage: string;
  readonly env: Readonly<Record<string, string>> | undefined;
  readonly cwd: string | undefined;
  readonly isMerged: boolean;
}

/** What is wrong with a body, in the form of the original server. */
export class InvalidBody extends Error {
  override readonly name = "InvalidBody";
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Reads fields of a body; a field that is left out has its default. */
export class Fields {
  readonly #body: Readonly<Record<string, unknown>>;

  constructor(body: unknown) {
    if (typeof body !== "object" || body === null || Array.isArray(body))
      throw new InvalidBody("body", "Input should be a valid dictionary");
    this.#body = body as Readonly<Record<string, unknown>>;
  }

  has(name: string): boolean {
    return this.#body[name] !== undefined && this.#body[name] !== null;
  }

  text(name: string, fallback?: string): string {
    return this.#of(name, "string", fallback);
  }

  flag(name: string): boolean {
    return this.#of(name, "boolean", false);
  }

  /** Seconds, as milliseconds. */
  time(name: string): number | undefined {
    if (!this.has(name)) return undefined;
    const seconds = this.#of(name, "number", 0);
    if (seconds < 0) throw new InvalidBody(name, "Input should be greater than or equal to 0");
    return seconds * 1000;
  }

  count(name: string, fallback: number): number {
    const value = this.#of(name, "number", fallback);
    if (!Number.isInteger(value) || value < 0) throw new InvalidBody(name, "Input should be a valid integer");
    return value;
  }

  texts(name: string): readonly string[] {
    const value = this.#body[name] ?? [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    throw new InvalidBody(name, "Input should be a valid list of strings");
  }

  textOrTexts(name: string): string | readonly string[] {
    return typeof this.#body[name] === "string" || !this.has(name) ? this.text(name) : this.texts(name);
  }

  variables(name: string): Readonly<Record<string, string>> | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#body[name];
    if (typeof value === "object" && !Array.isArray(value) && Object.values(value ?? {}).every((one) => typeof one === "string")) {
      return value as Readonly<Record<string, string>>;
    }
    throw new InvalidBody(name, "Input should be a valid dictionary of strings");
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
    const value = this.text(name, fallback);
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new InvalidBody(name, `Input should be ${choices.map((choice) => `'${choice}'`).join(" or ")}`);
    return found;
  }

  #of<Kind extends "string" | "boolean" | "number">(name: string, kind: Kind, fallback?: Kinds[Kind]): Kinds[Kind] {
    const value = this.#body[name] ?? fallback;
    if (value === undefined) throw new InvalidBody(name, "Field required");
    if (typeof value !== kind) throw new InvalidBody(name, `Input should be a valid ${kind}`);
    return value as Kinds[Kind];
  }
}

interface Kinds {
  readonly string: string;
  readonly boolean: boolean;
  readonly number: number;
}

export function parseCreate(body: unknown): CreateSession {
  const fields = new Fields(body);
  fields.oneOf("session_type", ["bash"], "bash");
  return { session: sessionOf(fields), sources: fields.texts("startup_source"), timeoutMs: fields.time("startup_timeout") ?? 1000 };
}

export function parseClose(body: unknown): string {
  const fields = new Fields(body);
  fields.oneOf("session_type", ["bash"], "bash");
  return sessionOf(fields);
}

export function parseAction(body: unknown): BashAction | InterruptAction {
  const fields = new Fields(body);
  const session = sessionOf(fields);
  const expect = fields.texts("expect");
  if (fields.oneOf("action_type", ["bash", "bash_interrupt"], "bash") === "bash_interrupt") {
    return { kind: "interrupt", session, expect, timeoutMs: fields.time("timeout") ?? 200, tries: fields.count("n_retry", 3) };
  }
  return {
    kind: "bash",
    session,
    expect,
    command: fields.text("command"),
    timeoutMs: fields.time("timeout"),
    isInteractiveCommand: fields.flag("is_interactive_command"),
    isInteractiveQuit: fields.flag("is_interactive_quit"),
    check: fields.oneOf("check", ["silent", "raise", "ignore"], "raise"),
    errorMessage: fields.text("error_msg", ""),
  };
}

export function parseCommand(body: unknown): ExecuteCommand {
  const fields = new Fields(body);
  return {
    command: fields.textOrTexts("command"),
    timeoutMs: fields.time("timeout"),
    isShell: fields.flag("shell"),
    isChecked: fields.flag("check"),
    errorMessage: fields.text("error_msg", ""),
    env: fields.variables("env"),
    cwd: fields.has("cwd") ? fields.text("cwd") : undefined,
    isMerged: fields.flag("merge_output_streams"),
  };
}

function sessionOf(fields: Fields): string {
  return fields.text("session", "default");
}
