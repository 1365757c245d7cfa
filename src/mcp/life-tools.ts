/** Tools for sandboxes themselves: make, list and end them, reach their ports, read their logs. */
import { Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { clip } from "./clip.ts";
import { input, sandboxId, texts, whole } from "./inputs.ts";
import { mcpLimits } from "./limits.ts";
import type { CreateWish, SandboxFacts } from "./sandboxes.ts";
import { sessionMetadataKey } from "./session-mark.ts";
import { jsonResult, type McpSession, textResult, tool, ToolFailure } from "./tool.ts";

const seconds = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 30 * 24 * 3600, description }));

const createSandbox = tool({
  name: "create_sandbox",
  title: "Create a sandbox",
  description:
    "Creates an isolated sandbox and waits until it runs. It ends with this session unless keep is true; without a session it ends after " +
    `${mcpLimits.idle / 60} minutes without use. The result has its sandboxId, which the other tools take.`,
  input: input({
    pool: Type.Optional(
      Type.String({
        minLength: 1,
        default: "base",
        description: "Pool (E2B: template) to take it from; base when left out, code-interpreter-v1 for run_code",
      }),
    ),
    image: Type.Optional(Type.String({ minLength: 1, description: "Container image instead of the pool's own" })),
    envVars: Type.Optional(texts("Environment of every command in it")),
    metadata: Type.Optional(texts("Kept with it, for finding it again")),
    idleTimeoutSeconds: seconds("It ends after so long without use"),
    lifetimeSeconds: seconds("It ends after so long, used or not"),
    keep: Type.Optional(Type.Boolean({ default: false, description: "It outlives this session" })),
  }),
  run: async (wish, { sandboxes, session, signal }) => jsonResult(shown(await sandboxes.create(createWish(wish, session), signal))),
});

interface CreateInput extends Pick<CreateWish, "image" | "envVars" | "metadata"> {
  readonly pool?: string;
  readonly idleTimeoutSeconds?: number;
  readonly lifetimeSeconds?: number;
  readonly keep?: boolean;
}

/** What is not kept ends with its session, and by itself if the session never says that it ends. */
export function createWish(wish: CreateInput, session: McpSession): CreateWish {
  const { pool = "base", image, envVars, idleTimeoutSeconds, lifetimeSeconds } = wish;
  const isKept = wish.keep ?? session.keep;
  const mark = isKept || session.id === undefined ? undefined : { [sessionMetadataKey]: session.id };
  const idle = idleTimeoutSeconds ?? (isKept ? undefined : mcpLimits.idle);
  return {
    pool,
    metadata: { ...wish.metadata, ...mark },
    ...withoutUndefined({ image, envVars, idleTimeoutMs: ms(idle), lifetimeMs: ms(lifetimeSeconds) }),
  };
}

function ms(given: number | undefined): number | undefined {
  return given === undefined ? undefined : given * 1000;
}

/** Without the mark of the session, which clients have no use for. */
function shown({ metadata, ...facts }: SandboxFacts): Readonly<Record<string, unknown>> {
  const { [sessionMetadataKey]: session, ...rest } = metadata;
  return { ...facts, metadata: rest, endsWithSession: session !== undefined };
}

const listSandboxes = tool({
  name: "list_sandboxes",
  title: "List sandboxes",
  description: "Lists your sandboxes, newest first: those that live, with includeEnded also those that have ended.",
  readOnly: true,
  input: input({
    limit: whole("How many at most", mcpLimits.sandboxes),
    cursor: Type.Optional(Type.String({ description: "The next of the page before" })),
    includeEnded: Type.Optional(Type.Boolean({ default: false, description: "Also those that have ended" })),
  }),
  run: async ({ limit = mcpLimits.sandboxes.usual, cursor, includeEnded = false }, { sandboxes }) => {
    const page = await sandboxes.list({ limit, includeEnded, ...withoutUndefined({ cursor }) });
    return jsonResult({ sandboxes: page.sandboxes.map(shown), ...withoutUndefined({ next: page.next }) });
  },
});

const endSandbox = tool({
  name: "end_sandbox",
  title: "End a sandbox",
  description: "Ends a sandbox: its processes and files are gone. Ending one that has ended is no error.",
  destructive: true,
  input: input({ sandboxId }),
  run: async (wanted, { sandboxes }) => {
    await sandboxes.end(wanted.sandboxId);
    return textResult(`sandbox ${wanted.sandboxId} ends`);
  },
});

const getPortUrl = tool({
  name: "get_port_url",
  title: "Get the URL of a port",
  description:
    "Gives the URL at which a server that listens on this port in the sandbox is reached from outside. The server need not listen yet.",
  readOnly: true,
  input: input({
    sandboxId,
    port: Type.Integer({ minimum: 1, maximum: 65_535, description: "Port that a program in the sandbox listens on" }),
  }),
  run: async ({ sandboxId: id, port }, { sandboxes }) => {
    const { privateTraffic = false } = await sandboxes.view(id);
    const url = sandboxes.portUrl(id, port);
    if (url === undefined) throw new ToolFailure("this server has no domain for its sandboxes: its operator sets one with --domain");
    const note = "its ports are private: requests need the header e2b-traffic-access-token with the sandbox's traffic token";
    return jsonResult({ url, ...(privateTraffic && { note }) });
  },
});

const sandboxLogs = tool({
  name: "sandbox_logs",
  title: "Read a sandbox's log",
  description: "Shows the last lines that the sandbox's container wrote since it was created. Outputs of commands are not in it.",
  readOnly: true,
  input: input({ sandboxId, lines: whole("How many lines from the end", mcpLimits.logLines) }),
  run: async ({ sandboxId: id, lines = mcpLimits.logLines.usual }, { sandboxes, signal }) => {
    const text = clip(Buffer.from(await sandboxes.logs(id, lines, signal)), mcpLimits.logs).text;
    return textResult(text === "" ? "(the log is empty)" : text);
  },
});

export const lifeTools = [createSandbox, listSandboxes, endSandbox, getPortUrl, sandboxLogs] as const;
