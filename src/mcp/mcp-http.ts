/** The server behind HTTP, for the versions of the protocol that the SDK knows: every request has a server of its own. */
import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server";
import { mcpLimits } from "./limits.ts";

export interface McpHttp<Context> {
  /** The body of the request is still to be read. */
  answer(request: Request, context: Context): Promise<Response>;
  /** Ends what is open. */
  close(): Promise<void>;
}

export interface McpHttpOptions {
  /** Told what went wrong outside of any answer. */
  readonly onError: (error: Error) => void;
}

/** `make`: the server for one request, whose context is the one that was given with it. */
export function mcpHttp<Context>(make: (context: Context) => McpServer, { onError }: McpHttpOptions): McpHttp<Context> {
  const handler = createMcpHandler(({ authInfo }) => make(authInfo?.extra?.["context"] as Context), {
    maxRequestBodySize: mcpLimits.requestBody,
    // The SDK's bound is one for all callers, so one of them could take it all; how much each may have open is limited before.
    maxSubscriptions: Infinity,
    onerror: onError,
  });
  return {
    // Keys are checked before; what the SDK calls a token never reaches it.
    answer: (request, context) => handler.fetch(request, { authInfo: { token: "", clientId: "", scopes: [], extra: { context } } }),
    close: () => handler.close(),
  };
}
