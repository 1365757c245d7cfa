import type { AgentBoxClient } from "#client/agentbox-client.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import type { Arguments } from "../flags.ts";
import { printed } from "../print/listing.ts";
import { yamlText } from "../print/yaml-text.ts";
import { inspectText } from "../sandbox/inspect-text.ts";
import { oneId } from "../sandbox/one-id.ts";

export const inspect: Command = {
  usage: ["inspect ID [-o FORMAT]", "inspect template/NAME [-o FORMAT]"],
  about:
    "Shows all details of a sandbox, live or ended. If it is stuck, also the reason: what its pod waits for or failed with, " +
    "and the warnings about it. For a template: its description and documentation.",
  examples: [
    { does: "Find out why a sandbox does not start", line: "agentbox inspect ID" },
    { does: "One field, for a script", line: "agentbox inspect ID -o jsonpath='{.podName}'" },
    { does: "Show the documentation of a template", line: "agentbox inspect template/base" },
  ],
  flags: { output: { short: "o", value: "FORMAT", help: "Output format for programs: yaml, json or jsonpath={PATH}" } },
  run: async (context, args) => {
    const id = oneId("inspect", args.words);
    const client = await apiClient(context);
    const template = templateIn(id);
    if (template !== undefined) return await showTemplate(context, args, client, template);
    const sandbox = await client.sandboxes.get(id, context.signal);
    if (!printed(context, args, sandbox)) context.stdout.write(inspectText(sandbox, context.clock.now()));
    return 0;
  },
};

/** Ids of sandboxes contain no slash. */
function templateIn(word: string): string | undefined {
  return /^(?:sandboxtemplates?|templates?|sbt)\/(.+)$/.exec(word)?.[1];
}

/** People get the document below the description; programs get one object. */
async function showTemplate(context: CliContext, args: Arguments, { templates }: AgentBoxClient, name: string): Promise<number> {
  const { signal, stdout } = context;
  const [template, { markdown }] = await Promise.all([templates.get(name, signal), templates.docs(name, signal)]);
  const about = { name, ...withoutUndefined({ version: template.spec.version, description: template.spec.description }) };
  if (printed(context, args, { ...about, docs: markdown })) return 0;
  const none = "This template has no documentation (annotation agentbox.navix.sh/docs).\n";
  stdout.write(markdown === "" ? `${yamlText(about)}${none}` : `${yamlText(about)}\n${markdown.trimEnd()}\n`);
  return 0;
}
