import { expect, test } from "vitest";
import { type ClientConfig, clientConfigs, withEntry } from "./client-configs.ts";

const entry = { command: "/opt/agentbox", args: ["mcp"], env: {} };

function config(name: string): ClientConfig {
  const found = clientConfigs[name];
  if (found === undefined) throw new Error(`no client ${name}`);
  return found;
}

test("an entry is added beside the others, and replaces its own", () => {
  const text = withEntry(config("cursor"), '{"theme":"x","mcpServers":{"a":{"command":"b"},"agentbox":{"command":"old"}}}', entry);
  expect(JSON.parse(text ?? "")).toEqual({
    theme: "x",
    mcpServers: { a: { command: "b" }, agentbox: { command: "/opt/agentbox", args: ["mcp"] } },
  });
});

test("a file with comments is left alone", () => {
  expect(withEntry(config("vscode"), "{ // mine\n}", entry)).toBeUndefined();
  expect(withEntry(config("vscode"), '{"servers":[]}', entry)).toBeUndefined();
});

test("Codex's table is replaced with those inside it, and the rest stays", () => {
  const before = 'model = "m"\n[mcp_servers.agentbox]\ncommand = "old"\n[mcp_servers.agentbox.env]\nA = "1"\n\n[other]\nb = 1\n';
  expect(withEntry(config("codex"), before, { ...entry, env: { K: 'v"' } })).toBe(
    'model = "m"\n[other]\nb = 1\n\n[mcp_servers.agentbox]\ncommand = "/opt/agentbox"\nargs = ["mcp"]\nenv = { K = "v\\"" }\n',
  );
});
