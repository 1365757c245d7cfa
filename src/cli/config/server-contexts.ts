/**
 * Selects the server of a command. Pure: reads the user's context file, the command line and the environment.
 *
 * Precedence: AGENTBOX_API_URL and AGENTBOX_API_KEY, `--context` or AGENTBOX_CONTEXT, AGENTBOX_HOME, the context in use, this machine.
 */
import { CliError, UsageError } from "../failure.ts";

export interface ServerContext {
  /** Address of a remote server's API. */
  readonly url?: string;
  readonly key?: string;
  /** Address of that server's gateway; left out: derived from the URL. */
  readonly gateway?: string;
  /** A data folder on this machine. */
  readonly home?: string;
  /** For apply, get and delete on a cluster. */
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
}

export interface ContextFile {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, ServerContext>>;
}

/** The content of the file; a missing file counts as empty. */
export interface ContextStore {
  readonly path: string;
  readonly read: () => Promise<ContextFile>;
  readonly write: (file: ContextFile) => Promise<void>;
}

export interface ChosenContext extends ServerContext {
  readonly name: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const noContexts: ContextFile = { contexts: {} };

/** Undefined: no context is in use, so the server of this machine is used. */
export function chosenContext(file: ContextFile, env: Environment, flag: string | undefined): ChosenContext | undefined {
  const asked = flag ?? nonEmpty(env["AGENTBOX_CONTEXT"]);
  if (asked !== undefined && nonEmpty(env["AGENTBOX_API_URL"]) !== undefined) {
    throw new UsageError(`AGENTBOX_API_URL is set and takes precedence over the context ${asked}: unset one of them`);
  }
  const name = asked ?? (nonEmpty(env["AGENTBOX_HOME"]) === undefined ? file.current : undefined);
  return name === undefined ? undefined : { name, ...contextNamed(file, name) };
}

export function contextNamed({ contexts }: ContextFile, name: string): ServerContext {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(contexts);
  throw new CliError(
    `there is no context ${JSON.stringify(name)}; ${names.length === 0 ? "create one with: agentbox config set NAME --url URL" : `there is ${names.join(", ")}`}`,
  );
}

/** Parses the file; errors contain its path. */
export function parseContexts(text: string, path: string): ContextFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(`${path} is not JSON: ${(error as Error).message}. Repair it, or remove it and create the contexts again`);
  }
  const { current, contexts } = (value ?? {}) as Partial<ContextFile>;
  if (typeof contexts !== "object" || contexts === null || Array.isArray(contexts) || !["string", "undefined"].includes(typeof current)) {
    throw new CliError(`${path} is not a context file: it needs "contexts", an object with one entry for each context`);
  }
  return { contexts, ...(current !== undefined && { current }) };
}

/** Without the secret: only says that there is a key. */
export function shownContext(file: ContextFile, name: string): object {
  const { key, ...rest } = contextNamed(file, name);
  return { name, inUse: file.current === name, ...rest, hasKey: key !== undefined };
}

export function contextKind({ url, kubeconfig }: ServerContext): string {
  if (kubeconfig !== undefined) return "cluster";
  return url === undefined ? "local" : "remote";
}

export function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
