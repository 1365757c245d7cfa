import { applyObject, type Applying } from "../apply/apply-object.ts";
import { objectClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, throwCollected, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { kindName } from "../kind-name.ts";
import { type Manifest, readManifests } from "../manifest/read-manifests.ts";

export const apply: Command = {
  usage: ["apply -f FILE [-f FILE …] [-n NAMESPACE] [--dry-run]"],
  about:
    "Creates the objects in the files, or changes existing objects to match the files. Fields that were applied " +
    "before and are missing in the file now are removed; fields set by others are kept. YAML (several documents, lists) and JSON.",
  examples: [
    { does: "All examples", line: "agentbox apply -f deploy/examples" },
    { does: "What would change?", line: "agentbox apply -f pool.yaml --dry-run=server" },
    { does: "From another program", line: "generate | agentbox apply -f -" },
  ],
  flags: {
    filename: { short: "f", value: "FILE", many: true, help: "File, folder (its .json, .yaml and .yml files), or - for standard input" },
    recursive: { short: "R", help: "Include subfolders" },
    namespace: { short: "n", value: "NAMESPACE", help: "Namespace of objects that name none (default: default)" },
    "dry-run": {
      value: "WHERE",
      alone: "client",
      choices: ["none", "client", "server"],
      help: "Change nothing; client only compares, server also lets the server check",
    },
    validate: {
      value: "HOW",
      alone: "strict",
      choices: ["strict", "warn", "ignore", "true", "false"],
      help: "How to treat unknown fields (default: strict)",
    },
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`apply takes files with -f: unexpected ${args.words.join(" ")}`);
    const paths = args.list("filename");
    if (paths.length === 0) throw new CliError("must specify -f");
    const request = { paths, recursive: args.isOn("recursive"), namespace: args.text("namespace") };
    const entries = await readManifests(context, request);
    if (entries.length === 0) throw new CliError("no objects passed to apply");
    await applyAll(context, args, entries);
    return 0;
  },
};

async function applyAll(context: CliContext, args: Arguments, entries: readonly (Manifest | CliError)[]): Promise<void> {
  const unread = entries.filter((entry) => entry instanceof CliError);
  const failed: unknown[] = [];
  const manifests = entries.filter((entry): entry is Manifest => !(entry instanceof CliError));
  if (manifests.length > 0) {
    const applying = await applyingWith(context, args);
    for (const manifest of manifests) {
      try {
        const outcome = await applyObject(applying, manifest);
        context.stdout.write(`${kindName(manifest.type)}/${manifest.name} ${outcome}${suffixes[applying.dryRun]}\n`);
      } catch (error) {
        if (context.signal.aborted) throw error;
        failed.push(error);
      }
    }
  }
  throwCollected([...unreadErrors(unread, failed.length > 0), ...failed]);
}

/** If other objects could be read, all errors of reading become one. */
function unreadErrors(unread: readonly CliError[], besideOthers: boolean): readonly CliError[] {
  if (unread.length < 2 || !besideOthers) return unread;
  return [new CliError(`[${unread.map(({ message }) => message).join(", ")}]`)];
}

const suffixes = { none: "", client: " (dry run)", server: " (server dry run)" };

const validations: Readonly<Record<string, Applying["fieldValidation"]>> = {
  strict: "Strict",
  true: "Strict",
  warn: "Warn",
  ignore: "Ignore",
  false: "Ignore",
};

async function applyingWith(context: CliContext, args: Arguments): Promise<Applying> {
  const dryRun = args.text("dry-run") ?? "none";
  return {
    client: await objectClient(context),
    clock: context.clock,
    signal: context.signal,
    dryRun: dryRun === "client" || dryRun === "server" ? dryRun : "none",
    fieldValidation: validations[args.text("validate") ?? "strict"] ?? "Strict",
    warn: (text) => context.stderr.write(text),
  };
}
