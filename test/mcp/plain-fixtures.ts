/** What the protocol's conformance suite wants of a server: tools, resources and prompts that answer the same each time. */
import { type CallToolResult, fromJsonSchema, type McpServer, ResourceTemplate, type ServerContext } from "@modelcontextprotocol/server";

/** One red point, as a picture. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A sound without samples. */
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
const pauseMs = 50;

type Content = CallToolResult["content"][number];

const image: Content = { type: "image", data: png, mimeType: "image/png" };
const text = (said: string): Content => ({ type: "text", text: said });
const resource = (uri: string, mimeType: string, said: string): Content => ({ type: "resource", resource: { uri, mimeType, text: said } });

const answers: Readonly<Record<string, readonly Content[]>> = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [image],
  test_audio_content: [{ type: "audio", data: wav, mimeType: "audio/wav" }],
  test_embedded_resource: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  test_multiple_content_types: [
    text("Multiple content types test:"),
    image,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ],
};

export function addPlainTools(server: McpServer): void {
  for (const [name, content] of Object.entries(answers)) {
    server.registerTool(name, { description: "Always answers the same" }, async () => ({ content: [...content] }));
  }
  server.registerTool("test_error_handling", { description: "Always fails" }, async () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool("test_tool_with_progress", { description: "Tells its progress" }, async (context) => {
    // oxlint-disable-next-line no-underscore-dangle -- the protocol's name
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
      }
      await pause();
    }
    return { content: [text("done")] };
  });
  server.registerTool("test_tool_with_logging", { description: "Logs while it runs" }, async (context) => {
    for (const said of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await log(context, said);
      await pause();
    }
    return { content: [text("done")] };
  });
  server.registerTool("test_logging_tool", { description: "Logs once" }, async (context) => {
    await log(context, "it ran");
    return { content: [text("done")] };
  });
}

async function log({ mcpReq }: ServerContext, data: string): Promise<void> {
  await mcpReq.log("info", data);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs));
}

export function addTestResources(server: McpServer): void {
  const plain = "This is the content of the static text resource.";
  server.registerResource("static-text", "test://static-text", { mimeType: "text/plain" }, async ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: plain }],
  }));
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, async ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: png }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, { mimeType: "application/json" }, async ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }) }],
  }));
}

const user = (content: Content) => ({ role: "user" as const, content });

/** What the handlers below are announced with. */
export const testCapabilities = { completions: {}, logging: {}, resources: { subscribe: true } };

export function addTestPrompts(server: McpServer): void {
  server.registerPrompt("test_simple_prompt", { description: "Without arguments" }, async () => ({
    messages: [user(text("This is a simple prompt for testing."))],
  }));
  const two = fromJsonSchema<{ arg1: string; arg2: string }>({
    type: "object",
    properties: { arg1: { type: "string" }, arg2: { type: "string" } },
    required: ["arg1", "arg2"],
  });
  server.registerPrompt("test_prompt_with_arguments", { description: "With arguments", argsSchema: two }, async ({ arg1, arg2 }) => ({
    messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  }));
  const place = fromJsonSchema<{ resourceUri: string }>({
    type: "object",
    properties: { resourceUri: { type: "string" } },
    required: ["resourceUri"],
  });
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "With a resource", argsSchema: place },
    async ({ resourceUri }) => ({
      messages: [
        user(resource(resourceUri, "text/plain", "Embedded resource content for testing.")),
        user(text("Please process the embedded resource above.")),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "With a picture" }, async () => ({
    messages: [user(image), user(text("Please analyze the image above."))],
  }));
  // Optional parts of the protocol, which our own tools have no use for.
  server.server.setRequestHandler("completion/complete", async () => ({
    completion: { values: ["paris", "park"], total: 2, hasMore: false },
  }));
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const) server.server.setRequestHandler(method, async () => ({}));
}
