import type { ObjectClient } from "#kube/object-client.ts";
import { objectClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, throwCollected } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { outputHelp, outputOf } from "../print/listing.ts";
import { printObjects } from "../print/print-objects.ts";
import { printTables } from "../print/print-tables.ts";
import { fetchAll, type GetRequest } from "../fetch-objects.ts";
import { selectObjects } from "../select-objects.ts";
import { watchObjects } from "../watch-objects.ts";

export const get: Command = {
  usage: ["get KIND [NAME …] [-n NAMESPACE | -A] [-l SELECTOR] [-o FORMAT] [-w]", "get KIND/NAME [KIND/NAME …]", "get KIND,KIND"],
  about:
    "Shows objects as a table, or in full with -o. KIND may be a plural (sandboxpools), a singular, a short name (sbp, sbe, sbt, sbc), " +
    "with the API group appended if needed, or `agentbox` for all kinds of AgentBox.",
  examples: [
    { does: "All pools in the default namespace", line: "agentbox get sandboxpools" },
    { does: "One pool in full", line: "agentbox get sbp py -o yaml" },
    { does: "All objects of AgentBox in all namespaces", line: "agentbox get agentbox -A" },
    { does: "Pods as they change", line: "agentbox get pods -w" },
  ],
  flags: {
    namespace: { short: "n", value: "NAMESPACE", help: "Look here (default: default)" },
    "all-namespaces": { short: "A", help: "Look in all namespaces" },
    selector: { short: "l", value: "SELECTOR", help: "Only objects with these labels: a=b,c!=d,'e in (f,g)'" },
    "field-selector": { value: "SELECTOR", help: "Only objects with these fields: metadata.name=a" },
    output: { short: "o", value: "FORMAT", help: `Output format: ${outputHelp}` },
    watch: { short: "w", help: "Keep showing changes until Ctrl-C" },
    "no-headers": { help: "Leave out the headers of tables" },
    "ignore-not-found": { help: "Do not fail for objects that do not exist" },
  },
  run: async (context, args) => {
    if (args.words.length === 0) throw new CliError("Required resource not specified. Name a kind, such as sandboxpools");
    const request = requestOf(args);
    const client = await objectClient(context);
    if (args.isOn("watch")) return await watch(context, client, request);
    await show(context, client, request);
    return 0;
  },
};

function requestOf(args: Arguments): GetRequest {
  const selections = selectObjects(args.words, "get");
  const everywhere = args.isOn("all-namespaces");
  const named = selections.some(({ names }) => names !== undefined);
  if (named && (args.has("selector") || args.has("field-selector")))
    throw new CliError("name cannot be provided when a selector is specified");
  if (named && everywhere) throw new CliError("a resource cannot be retrieved by name across all namespaces");
  return {
    selections,
    namespace: everywhere ? undefined : (args.text("namespace") ?? "default"),
    labelSelector: args.text("selector"),
    fieldSelector: args.text("field-selector"),
    output: outputOf(args) as GetRequest["output"],
    headers: !args.isOn("no-headers"),
    ignoreNotFound: args.isOn("ignore-not-found"),
  };
}

async function show(context: CliContext, client: ObjectClient, request: GetRequest): Promise<void> {
  const { found, errors } = await fetchAll(context, client, request);
  const empty = found.every(({ objects }) => objects.length === 0);
  if (request.output === "table" || request.output === "wide") {
    context.stdout.write(printTables(found, { ...request, now: context.clock.now() }));
    if (empty && errors.length === 0 && !request.ignoreNotFound) context.stderr.write(nothingText(request));
  } else if (!empty || !(isSingle(request) || request.ignoreNotFound)) {
    const objects = found.flatMap((group) => group.objects);
    context.stdout.write(await printObjects(objects, request.output, isSingle(request)));
  }
  throwCollected(errors);
}

/** Only one object can be meant, so that it is shown as itself and not as a list of one. */
function isSingle({ selections }: GetRequest): boolean {
  return selections.length === 1 && selections[0]?.names?.length === 1;
}

function nothingText({ namespace, selections }: GetRequest): string {
  const inOneNamespace = namespace !== undefined && selections.every(({ type }) => type.namespaced);
  return inOneNamespace ? `No resources found in ${namespace} namespace.\n` : "No resources found\n";
}

async function watch(context: CliContext, client: ObjectClient, request: GetRequest): Promise<never> {
  const [selection, ...others] = request.selections;
  if (selection === undefined || others.length > 0 || (selection.names?.length ?? 0) > 1) {
    throw new CliError("you may only specify a single resource type, and at most one name, with --watch");
  }
  return await watchObjects(context, client, { ...request, selection });
}
