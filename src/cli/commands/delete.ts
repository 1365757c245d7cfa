import { ApiError, isApiError } from "#kube/api-error.ts";
import type { DeleteOptions, ObjectClient } from "#kube/object-client.ts";
import { parseDuration } from "#model/duration.ts";
import type { ResourceType } from "#model/resource.ts";
import { objectClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, throwCollected, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { kindName } from "../kind-name.ts";
import { readManifests } from "../manifest/read-manifests.ts";
import { selectObjects } from "../select-objects.ts";
import { type Doomed, waitUntilGone } from "../wait-until-gone.ts";

export const deleteObjects: Command = {
  usage: ["delete KIND NAME … [-n NAMESPACE]", "delete KIND -l SELECTOR | --all", "delete -f FILE"],
  about: "Deletes objects and waits until they are gone. Objects that they own are deleted too, unless --cascade says otherwise.",
  examples: [
    { does: "A pool and its pods", line: "agentbox delete sandboxpool py" },
    { does: "Everything that was applied from a folder", line: "agentbox delete -f deploy/examples" },
    { does: "Do not wait", line: "agentbox delete sbp py --wait=false" },
  ],
  flags: {
    filename: { short: "f", value: "FILE", many: true, help: "Delete the objects of this file, folder, or - for standard input" },
    recursive: { short: "R", help: "Include subfolders" },
    namespace: { short: "n", value: "NAMESPACE", help: "Look here (default: default)" },
    selector: { short: "l", value: "SELECTOR", help: "All objects of the kind with these labels" },
    all: { help: "All objects of the kind in the namespace" },
    wait: { help: "Wait until they are gone (default: true)" },
    timeout: { value: "DURATION", help: "Give up waiting after this time, such as 30s or 5m (default: never)" },
    cascade: {
      value: "HOW",
      alone: "background",
      help: "What happens to owned objects: background, foreground (deleted first) or orphan (kept)",
    },
    "grace-period": { value: "SECONDS", help: "Time that pods get to shut down (default: their own)" },
    force: { help: "With --grace-period=0: remove pods at once, without waiting for them to end" },
    "ignore-not-found": { help: "Do not fail for objects that do not exist" },
    "dry-run": {
      value: "WHERE",
      alone: "client",
      choices: ["none", "client", "server"],
      help: "Delete nothing; server also lets the server check",
    },
    output: { short: "o", value: "FORMAT", choices: ["name"], help: "Print names only" },
  },
  run: async (context, args) => {
    const request = requestOf(args);
    const client = await objectClient(context);
    const targets = await findTargets(context, client, args);
    const doomed = await deleteAll(context, client, { request, targets });
    if (doomed.length === 0 && targets.length === 0) context.stdout.write("No resources found\n");
    if (request.wait) await waitUntilGone(context, client, doomed, request.timeoutMs);
    return 0;
  },
};

interface DeleteRequest {
  readonly options: DeleteOptions;
  readonly dryRun: "none" | "client" | "server";
  readonly force: boolean;
  readonly namesOnly: boolean;
  readonly ignoreNotFound: boolean;
  readonly wait: boolean;
  readonly timeoutMs: number | undefined;
}

interface Target extends Doomed {
  /** The file that contained it. */
  readonly source: string | undefined;
}

function requestOf(args: Arguments): DeleteRequest {
  const dryRun = args.text("dry-run") ?? "none";
  const force = args.isOn("force");
  return {
    options: { propagationPolicy: cascadeOf(args), gracePeriodSeconds: gracePeriodOf(args, force), dryRun: dryRun === "server" },
    dryRun: dryRun === "client" || dryRun === "server" ? dryRun : "none",
    force,
    namesOnly: args.has("output"),
    // A selector without matches is not an error.
    ignoreNotFound: args.isOn("ignore-not-found", args.has("selector") || args.isOn("all")),
    wait: args.isOn("wait", true) && dryRun === "none",
    timeoutMs: timeoutOf(args),
  };
}

const policies: Readonly<Record<string, DeleteOptions["propagationPolicy"]>> = {
  background: "Background",
  true: "Background",
  foreground: "Foreground",
  orphan: "Orphan",
  false: "Orphan",
};

function cascadeOf(args: Arguments): DeleteOptions["propagationPolicy"] {
  const given = args.text("cascade") ?? "background";
  const policy = policies[given];
  if (policy === undefined) throw new CliError(`invalid cascade value (${given}). Must be "background", "foreground", or "orphan"`);
  return policy;
}

/** Undefined: wait without a limit, which kubectl writes as 0. */
function timeoutOf(args: Arguments): number | undefined {
  const given = args.text("timeout") ?? "0";
  try {
    return parseDuration(given) || undefined;
  } catch (error) {
    throw new UsageError(`--timeout: ${(error as Error).message}`);
  }
}

/** Without a grace period a process may keep running unnoticed, so --force is required. */
function gracePeriodOf(args: Arguments, force: boolean): number | undefined {
  const given = args.number("grace-period");
  if (force && (given ?? 0) > 0) throw new CliError("--force and --grace-period greater than 0 cannot be specified together");
  if (force) return 0;
  return given === 0 ? 1 : given;
}

async function findTargets(context: CliContext, client: ObjectClient, args: Arguments): Promise<readonly (Target | CliError)[]> {
  const paths = args.list("filename");
  const selecting = args.has("selector") || args.isOn("all");
  if (paths.length > 0) {
    if (args.words.length > 0 || selecting)
      throw new CliError("when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well");
    const entries = await readManifests(context, { paths, recursive: args.isOn("recursive"), namespace: args.text("namespace") });
    return entries;
  }
  if (args.words.length === 0) throw new UsageError("delete needs a kind and names, or -f FILE");
  if (args.has("selector") && args.isOn("all")) throw new CliError("cannot set --all and --selector at the same time");
  return await selectTargets(context, client, args, selecting);
}

async function selectTargets(context: CliContext, client: ObjectClient, args: Arguments, selecting: boolean): Promise<readonly Target[]> {
  const targets: Target[] = [];
  for (const { type, names } of selectObjects(args.words, "delete")) {
    const namespace = type.namespaced ? (args.text("namespace") ?? "default") : undefined;
    if (names !== undefined && selecting) throw new CliError("name cannot be provided when a selector is specified");
    if (names === undefined && !selecting) throw new CliError("resource(s) were provided, but no name was specified");
    const found = names ?? (await namesOf(context, client, type, { namespace, labelSelector: args.text("selector") }));
    targets.push(...found.map((name) => ({ type, name, namespace, source: undefined })));
  }
  return targets;
}

async function namesOf(
  context: CliContext,
  client: ObjectClient,
  type: ResourceType,
  where: { namespace: string | undefined; labelSelector: string | undefined },
): Promise<readonly string[]> {
  const list = await client.list(type, { ...where, signal: context.signal });
  return list.items.map(({ metadata }) => metadata.name ?? "");
}

interface Deletion {
  readonly request: DeleteRequest;
  readonly targets: readonly (Target | CliError)[];
}

/** Deletes as many objects as possible, then fails with the errors. */
async function deleteAll(context: CliContext, client: ObjectClient, { request, targets }: Deletion): Promise<readonly Doomed[]> {
  const errors: unknown[] = [];
  const doomed: Doomed[] = [];
  if (request.force) context.stderr.write(forceWarning);
  for (const target of targets) {
    try {
      if (target instanceof CliError) throw target;
      if (request.dryRun !== "client") await client.delete(target.type, target, { ...request.options, signal: context.signal });
      context.stdout.write(deletedLine(target, request));
      doomed.push(target);
    } catch (error) {
      if (context.signal.aborted) throw error;
      if (request.ignoreNotFound && isApiError(error, "NotFound")) continue;
      errors.push(target instanceof CliError ? error : fromFile(error, target.source));
    }
  }
  throwCollected(errors);
  return doomed;
}

const forceWarning =
  "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. " +
  "The resource may continue to run on the cluster indefinitely.\n";

function deletedLine({ type, name, namespace }: Target, { namesOnly, force, dryRun }: DeleteRequest): string {
  if (namesOnly) return `${kindName(type)}/${name}\n`;
  const where = namespace === undefined ? "" : ` from ${namespace} namespace`;
  const suffix = { none: "", client: " (dry run)", server: " (server dry run)" }[dryRun];
  return `${kindName(type)} "${name}" ${force ? "force deleted" : "deleted"}${where}${suffix}\n`;
}

function fromFile(error: unknown, source: string | undefined): unknown {
  if (!isApiError(error) || source === undefined) return error;
  const message = `error when deleting ${JSON.stringify(source)}: ${error.message}`;
  return new ApiError(error.reason, message, { ...error.details, cause: error, code: error.code });
}
