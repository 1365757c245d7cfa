import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";

const formats: Readonly<Record<string, (name: string, value: string) => string>> = {
  sh: (name, value) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`,
  fish: (name, value) => `set -gx ${name} '${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`,
  dotenv: (name, value) => `${name}=${JSON.stringify(value)}`,
};

export const env: Command = {
  usage: ["env [-o FORMAT]"],
  about: "Prints the data folder and the addresses of AgentBox as environment variables. Addresses are there while AgentBox runs.",
  examples: [
    { does: "Set them in this shell", line: 'eval "$(agentbox env)"' },
    { does: "The same in fish", line: "agentbox env -o fish | source" },
    { does: "For a program", line: "agentbox env -o json" },
  ],
  flags: { output: { short: "o", value: "FORMAT", choices: ["sh", "fish", "json", "dotenv"], help: "How they are written" } },
  run: async (context, args) => {
    const variables = await environmentOf(context);
    const format = formats[args.text("output") ?? "sh"];
    const text =
      format === undefined ? JSON.stringify(Object.fromEntries(variables), null, 2) : variables.map((pair) => format(...pair)).join("\n");
    context.stdout.write(`${text}\n`);
    return 0;
  },
};

async function environmentOf({ home }: CliContext): Promise<readonly [string, string][]> {
  const address = await home.httpAddress();
  return [
    ["AGENTBOX_HOME", home.folder],
    ["AGENTBOX_SOCKET", home.socketPath],
    ...(address === undefined ? [] : [["AGENTBOX_URL", address] satisfies [string, string]]),
  ];
}
