/** Where AI clients store their MCP servers, and the form of an entry. Pure. */

export interface McpEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface Folders {
  readonly home: string;
  /** In the project: the current folder. */
  readonly cwd: string;
  readonly isMac: boolean;
}

export interface ClientConfig {
  readonly file: (folders: Folders) => string;
  readonly form: "json" | "toml";
  /** The key under which the file lists its servers. */
  readonly key: string;
  /** Written before command, args and env. */
  readonly more?: Readonly<Record<string, string>>;
}

const inHome =
  (path: string) =>
  ({ home }: Folders): string =>
    `${home}/${path}`;

export const clientConfigs: Readonly<Record<string, ClientConfig>> = {
  "claude-code": { file: ({ cwd }) => `${cwd}/.mcp.json`, form: "json", key: "mcpServers", more: { type: "stdio" } },
  "claude-desktop": {
    file: ({ home, isMac }) => `${home}/${isMac ? "Library/Application Support" : ".config"}/Claude/claude_desktop_config.json`,
    form: "json",
    key: "mcpServers",
  },
  codex: { file: inHome(".codex/config.toml"), form: "toml", key: "mcp_servers" },
  cursor: { file: inHome(".cursor/mcp.json"), form: "json", key: "mcpServers" },
  gemini: { file: inHome(".gemini/settings.json"), form: "json", key: "mcpServers" },
  vscode: { file: ({ cwd }) => `${cwd}/.vscode/mcp.json`, form: "json", key: "servers", more: { type: "stdio" } },
  windsurf: { file: inHome(".codeium/windsurf/mcp_config.json"), form: "json", key: "mcpServers" },
};

export const clientNames: readonly string[] = Object.keys(clientConfigs);

const name = "agentbox";

/** The file with the entry added and everything else unchanged; undefined if the file cannot be parsed. */
export function withEntry({ form, key, more }: ClientConfig, text: string, { command, args, env }: McpEntry): string | undefined {
  const hasEnv = Object.keys(env).length > 0;
  if (form === "toml") return withTable(text, key, { command, args, env });
  const file = jsonObject(text);
  const servers = file?.[key] ?? {};
  if (file === undefined || typeof servers !== "object" || servers === null || Array.isArray(servers)) return undefined;
  const entry = { ...more, command, args, ...(hasEnv && { env }) };
  return `${JSON.stringify({ ...file, [key]: { ...servers, [name]: entry } }, undefined, 2)}\n`;
}

function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** JSON strings are valid TOML strings. */
function withTable(text: string, key: string, { command, args, env }: McpEntry): string {
  const pairs = Object.entries(env).map(([variable, value]) => `${variable} = ${JSON.stringify(value)}`);
  const table = [
    `[${key}.${name}]`,
    `command = ${JSON.stringify(command)}`,
    `args = [${args.map((arg) => JSON.stringify(arg)).join(", ")}]`,
    ...(pairs.length === 0 ? [] : [`env = { ${pairs.join(", ")} }`]),
  ];
  const others = withoutTable(text, `${key}.${name}`).trimEnd();
  return `${others}${others === "" ? "" : "\n\n"}${table.join("\n")}\n`;
}

/** Removes the table and its subtables. */
function withoutTable(text: string, table: string): string {
  let isOurs = false;
  const kept = text.split("\n").filter((line) => {
    const head = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1];
    if (head !== undefined) isOurs = head === table || head.startsWith(`${table}.`);
    return !isOurs;
  });
  return kept.join("\n");
}
