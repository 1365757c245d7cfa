import type { AgentBoxClient } from "#client/agentbox-client.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { yamlText } from "../print/yaml-text.ts";
import { oneId } from "../sandbox/one-id.ts";

export const inspect: Command = {
  usage: ["inspect ID [-o FORMAT]", "inspect template/NAME [-o FORMAT]"],
  about:
    "Shows all details of a sandbox, live or ended. If it is stuck, also the reason: what its pod waits for or failed with, " +
    "and the warnings about it. For a template: its description and documentation.",
  examples: [
    { does: "Find out why a sandbox does not start", line: "agentbox inspect ID" },
    { does: "Show the documentation of a template", line: "agentbox inspect template/base" },
  ],
  flags: { output: { short: "o", value: "FORMAT", choices: ["yaml", "json"], help: "Output format" } },
  run: async (context, args) => {
    const id = oneId("inspect", args.words);
    const client = await apiClient(context);
    const template = templateIn(id);
    if (template !== undefined) {
      context.stdout.write(await templateText(client, template, { format: args.text("output"), signal: context.signal }));
      return 0;
    }
    const sandbox = await client.sandboxes.get(id, context.signal);
    context.stdout.write(args.text("output") === "json" ? `${JSON.stringify(sandbox, null, 2)}\n` : yamlText(sandbox));
    return 0;
  },
};

/** Ids of sandboxes contain no slash. */
function templateIn(word: string): string | undefined {
  return /^(?:sandboxtemplates?|templates?|sbt)\/(.+)$/.exec(word)?.[1];
}

interface Shown {
  readonly format: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** People get the document below the description; programs get one object. */
async function templateText({ templates }: AgentBoxClient, name: string, { format, signal }: Shown): Promise<string> {
  const [template, { markdown }] = await Promise.all([templates.get(name, signal), templates.docs(name, signal)]);
  const { version, description } = template.spec;
  if (format === "json") return `${JSON.stringify({ name, version, description, docs: markdown }, null, 2)}\n`;
  const head = yamlText({ name, ...withoutUndefined({ version, description }) });
  return markdown === ""
    ? `${head}This template has no documentation (annotation agentbox.navix.sh/docs).\n`
    : `${head}\n${markdown.trimEnd()}\n`;
}
