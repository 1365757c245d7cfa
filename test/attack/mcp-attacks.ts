/** What one tenant can ask of MCP: each request stands alone, so no session is opened. */
import { mcpLimits } from "#mcp/limits.ts";
import { type Attack, again, type Answered, type Attacker, Tally } from "./scene.ts";
import { withSandbox } from "./sandbox-attacks.ts";

const version = "2025-11-25";

/** A call of a tool. */
function call(attacker: Attacker, name: string, args: unknown, signal: AbortSignal): Promise<Answered> {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
  const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": version };
  return attacker.answered(attacker.stream("POST", "/mcp", { headers, body, signal }));
}

const lettersOf = (text: string): string => text.repeat(1000);

/** Each replaces thousands of places, and the last one looks for what was made to be looked for long. */
const edits: Attack = {
  name: "MCP edits that take long",
  run: (attacker, signal) =>
    withSandbox(attacker, async (sandboxId) => {
      const path = "/tmp/edited";
      const tally = new Tally();
      const text = "ab".repeat(250_000);
      await call(attacker, "write_file", { sandboxId, path, text }, signal);
      const edit = [
        ...Array.from({ length: 100 }, () => ({ oldText: "a", newText: "a", replaceAll: true })),
        { oldText: `${lettersOf("ab")}b`, newText: "c" },
      ];
      await again(signal, { parallel: 4, rounds: 2000 }, () =>
        tally.count(call(attacker, "edit_file", { sandboxId, path, edits: edit }, signal)),
      );
      return tally.toString();
    }),
};

/** As many messages in one request as are let in: answers of 13 KB each. */
const lists: Attack = {
  name: "MCP messages in lists",
  run: async (attacker, signal) => {
    const tally = new Tally();
    const one = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26" };
    const body = Array.from({ length: mcpLimits.messages }, (_, id) => ({ ...one, id }));
    await again(signal, { parallel: 8, rounds: 3000 }, () =>
      tally.count(attacker.answered(attacker.stream("POST", "/mcp", { headers, body, signal }))),
    );
    return tally.toString();
  },
};

export const mcpAttacks: readonly Attack[] = [edits, lists];
