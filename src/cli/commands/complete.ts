/**
 * `agentbox __complete -- WORDS`: prints completions of the last word, one per line. Shells call it at every press of Tab, so it must be fast, and silent
 * on errors.
 */
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { commandTable, findCommand } from "../command-table.ts";
import type { CliContext } from "../context.ts";

const usualPatienceMs = 300;

export const complete: Command = {
  usage: ["__complete -- WORD …"],
  about: "Prints what the last of these words may become, for the completion of shells: agentbox completion SHELL.",
  examples: [{ does: "Commands that begin with e", line: "agentbox __complete -- e" }],
  flags: {},
  run: async (context, args) => {
    const stop = new AbortController();
    const words = args.afterDashes ?? [];
    const found = await new Promise<readonly Candidate[]>((resolve) => {
      const timer = context.clock.after(Number(context.env["AGENTBOX_COMPLETION_MS"] ?? usualPatienceMs), () => {
        stop.abort();
        resolve([]);
      });
      // If the server does not answer, nothing is completed.
      void candidates({ ...context, signal: stop.signal }, words)
        .catch(() => [])
        .then(resolve)
        .finally(() => timer.cancel());
    });
    const begun = words.at(-1) ?? "";
    const lines = found
      .filter(({ word }) => word.startsWith(begun))
      .map(({ word, help }) => (help === undefined ? word : `${word}\t${help}`));
    context.stdout.write(lines.map((line) => `${line}\n`).join(""));
    return 0;
  },
};

interface Candidate {
  readonly word: string;
  readonly help?: string;
}

type Names = "sandboxes" | "pools" | "envs" | "contexts" | "commands" | "places" | "shells";

/** The kind of words that a command takes. */
const wordsOf: Readonly<Record<string, Names>> = {
  ...Object.fromEntries(
    ["exec", "attach", "logs", "inspect", "port", "extend", "pause", "resume", "rm", "kill", "wait"].map((name) => [
      name,
      "sandboxes" as const,
    ]),
  ),
  cp: "places",
  run: "pools",
  shell: "pools",
  scale: "pools",
  envs: "envs",
  config: "contexts",
  help: "commands",
  completion: "shells",
};

const valuesOf: Readonly<Record<string, Names>> = { "--context": "contexts", "--pool": "pools" };

async function candidates(context: CliContext, words: readonly string[]): Promise<readonly Candidate[]> {
  const [name = "", ...rest] = words;
  const values = valuesOf[words.at(-2) ?? ""];
  if (values !== undefined) return await named(context, values);
  if (rest.length === 0 || name === "help") return await named(context, "commands");
  const command = await findCommand([name])?.load();
  return command === undefined ? [] : await ofCommand(context, command, words);
}

async function ofCommand(context: CliContext, command: Command, words: readonly string[]): Promise<readonly Candidate[]> {
  const [name = "", ...rest] = words;
  const [begun = "", before = ""] = [words.at(-1), words.at(-2)];
  const { choices } = command.flags[before.replace(/^--/, "")] ?? {};
  if (choices !== undefined) return choices.map((word) => ({ word }));
  if (begun.startsWith("-")) return Object.entries(command.flags).map(([flag, { help }]) => ({ word: `--${flag}`, help }));
  if (rest.length === 1 && command.words !== undefined) return command.words.map((word) => ({ word }));
  const names = wordsOf[name];
  return names === undefined ? [] : await named(context, names);
}

async function named(context: CliContext, names: Names): Promise<readonly Candidate[]> {
  if (names === "commands")
    return commandTable.filter(({ group }) => group !== "hidden").map(({ name, summary }) => ({ word: name, help: summary }));
  if (names === "shells") return ["bash", "zsh", "fish"].map((word) => ({ word }));
  if (names === "contexts") return Object.keys((await context.contexts.read()).contexts).map((word) => ({ word }));
  const { sandboxes, envs, pools } = await apiClient(context);
  if (names === "sandboxes" || names === "places") {
    const page = await sandboxes.page({ status: liveSandboxStatuses, limit: 200 }, context.signal);
    const colon = names === "places" ? ":" : "";
    return page.sandboxes.map(({ sandboxId, poolName, status }) => ({ word: `${sandboxId}${colon}`, help: `${poolName}, ${status}` }));
  }
  const found =
    names === "envs"
      ? await envs.list(undefined, context.signal)
      : [...(await envs.list(undefined, context.signal)), ...(await pools.list(context.signal))];
  return [...new Set(found.map(({ metadata }) => metadata.name ?? ""))].map((word) => ({ word }));
}
