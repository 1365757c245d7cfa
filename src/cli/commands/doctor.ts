import { isApiError } from "#kube/api-error.ts";
import { Pods } from "#model/pod.ts";
import { apiClient, apiPlace, chosenServer, objectClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import { diagnose, type Finding, type Probed } from "../doctor/checks.ts";
import { failureText } from "../failure-text.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";

const { watch: _, ...flags } = listingFlags;

export const doctor: Command = {
  usage: ["doctor [-o FORMAT]"],
  about:
    "Checks this machine and the installation: kernel, control groups, user namespaces, disk, ports, certificates, registries, clock, database, " +
    "server, and the rights on a cluster. Says what is wrong and the command that fixes it. Ends with 1 when something does not work. " +
    "With a context of a remote server it checks the way there.",
  examples: [
    { does: "What is wrong", line: "agentbox doctor" },
    { does: "In a script", line: "agentbox doctor -o json > report.json || exit 1" },
  ],
  flags,
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`doctor takes only flags: unexpected ${args.words.join(" ")}`);
    const findings = await examine(context);
    await showListing(context, args, { load: async () => findings, nameOf: ({ check }) => check, columns, empty: "" });
    const fixes = findings.flatMap(({ check, fix }) => (fix === undefined ? [] : [`\n${check}: ${fix}`]));
    if (!args.has("output") && fixes.length > 0) context.stdout.write(`${fixes.join("")}\n`);
    return findings.some(({ verdict }) => verdict === "problem") ? 1 : 0;
  },
};

async function examine(context: CliContext): Promise<readonly Finding[]> {
  const chosen = await chosenServer(context);
  const [machine, api, cluster] = await Promise.all([
    context.probeMachine(),
    probeApi(context),
    chosen?.kubeconfig === undefined ? undefined : probeCluster(context, chosen.name),
  ]);
  const probed: Probed = { ...machine, api: api?.found, clockOffMs: api?.clockOffMs, cluster };
  return diagnose(probed, context.clock.now(), chosen?.url !== undefined);
}

const columns: readonly ListColumn<Finding>[] = [
  { name: "CHECK", cell: ({ check }) => check },
  { name: "RESULT", cell: ({ verdict }) => verdict },
  { name: "FOUND", cell: ({ message }) => message },
  { name: "FIX", wide: true, cell: ({ fix }) => fix ?? "-" },
];

async function probeApi(context: CliContext): Promise<{ found: NonNullable<Probed["api"]>; clockOffMs: number | undefined } | undefined> {
  let url: string;
  try {
    ({ url } = await apiPlace(context));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return undefined;
  }
  try {
    const client = await apiClient(context);
    await client.sandboxes.page({ limit: 1 }, context.signal);
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(3000) });
    const date = Date.parse(answer.headers.get("date") ?? "");
    return { found: { url, failure: undefined }, clockOffMs: Number.isNaN(date) ? undefined : date - context.clock.now() };
  } catch (error) {
    return {
      found: {
        url,
        failure: failureText(error)
          .trim()
          .replace(/^error: /, ""),
      },
      clockOffMs: undefined,
    };
  }
}

async function probeCluster(context: CliContext, name: string): Promise<NonNullable<Probed["cluster"]>> {
  try {
    const client = await objectClient(context);
    await client.list(Pods, { limit: 1, signal: context.signal });
    return { name, failure: undefined, missingRights: [] };
  } catch (error) {
    if (isApiError(error, "Forbidden")) return { name, failure: undefined, missingRights: ["list pods"] };
    return { name, failure: failureText(error).trim(), missingRights: [] };
  }
}
