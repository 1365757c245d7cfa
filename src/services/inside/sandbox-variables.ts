/**
 * The environment that a sandbox was created with, from its daemon: nothing else has it, because it may hold secrets and is written nowhere.
 * Every command in the sandbox gets it: the SDKs' from the daemon itself, ours and terminals through this.
 */
import type { PodHttp } from "#daemon-client/pod-http.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { daemonAddress } from "#life/arm/ask-daemon.ts";
import type { SandboxTokens } from "#services/creating/sandbox-tokens.ts";
import { ServiceError } from "#services/service-error.ts";

export type SandboxVariables = (pod: Pod, signal?: AbortSignal) => Promise<Readonly<Record<string, string>>>;

export interface SandboxVariablesDeps {
  readonly http: Pick<PodHttp, "send">;
  readonly tokens: Pick<SandboxTokens, "accessTokenOf">;
}

/** As long as a command of the runtime may take: a daemon that was armed just now starts first, and on an emulated machine that took more than ten seconds. */
const timeoutMs = 30_000;
/** More than a create takes. */
const maxBytes = 2 * 1024 * 1024;

/** Throws ServiceError where the daemon does not answer: a command without its environment would do something else. */
export function daemonVariables({ http, tokens }: SandboxVariablesDeps): SandboxVariables {
  return async (pod, signal) => {
    const headers = { "x-access-token": tokens.accessTokenOf(sandboxIdOf(pod) ?? "") };
    try {
      const { status, text } = await http.send(daemonAddress(pod), { method: "GET", path: "/envs", headers, timeoutMs, maxBytes }, signal);
      if (status !== 200) throw new Error(`the daemon answered ${status}`);
      return variablesIn(JSON.parse(text));
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      const message = "the sandbox's daemon does not answer, so the environment of a command is not known; try again";
      throw new ServiceError("unavailable", message, { retryAfterSeconds: 1, cause: error });
    }
  };
}

/** A sandbox's root can make its daemon say anything; what no program can be given is left out. */
function variablesIn(said: unknown): Readonly<Record<string, string>> {
  if (typeof said !== "object" || said === null) return {};
  const entries = Object.entries(said).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && /^[^=\0]+$/.test(entry[0]) && !entry[1].includes("\0"),
  );
  return Object.fromEntries(entries);
}
