/** Tools and a prompt that need input of the client's user, or of its model, before they can answer. */
import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequest,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from "@modelcontextprotocol/server";

/** What was given so far, and the state that came back. */
type Inputs = ServerContext["mcpReq"]["inputResponses"];

const done = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] });

function ask(message: string, property: string, field: { type: "string" } | { type: "boolean" } = { type: "string" }): InputRequest {
  return inputRequired.elicit({ message, requestedSchema: { type: "object", properties: { [property]: field }, required: [property] } });
}

function askModel(question: string): InputRequest {
  return inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text: question } }], maxTokens: 100 });
}

interface InputTool {
  readonly requests: Readonly<Record<string, InputRequest>>;
  /** Undefined: it is not there, or not as it must be, and is asked for again. */
  readonly answer: (inputs: Inputs) => string | undefined;
  /** Whether the answer must come back with a state that we have signed. */
  readonly hasState?: boolean;
}

const nameOf = (inputs: Inputs, key: string): string | undefined => {
  const name = acceptedContent(inputs, key)?.["name"];
  return typeof name === "string" ? name : undefined;
};
const isConfirmed = (inputs: Inputs): boolean => acceptedContent(inputs, "confirm") !== undefined;
const sampled = (inputs: Inputs, key: string): string | undefined =>
  inputResponse(inputs, key).kind === "sampling" ? "the model has answered" : undefined;

const inputTools: Readonly<Record<string, InputTool>> = {
  test_input_required_result_elicitation: {
    requests: { user_name: ask("What is your name?", "name") },
    answer: (inputs) => nameOf(inputs, "user_name"),
  },
  test_input_required_result_sampling: {
    requests: { capital_question: askModel("What is the capital of France?") },
    answer: (inputs) => sampled(inputs, "capital_question"),
  },
  test_input_required_result_list_roots: {
    requests: { client_roots: inputRequired.listRoots() },
    answer: (inputs) => {
      const given = inputResponse(inputs, "client_roots");
      return given.kind === "roots" ? given.roots.map(({ uri }) => uri).join(", ") : undefined;
    },
  },
  test_input_required_result_request_state: {
    requests: { confirm: ask("Please confirm", "ok", { type: "boolean" }) },
    answer: (inputs) => (isConfirmed(inputs) ? "state-ok" : undefined),
    hasState: true,
  },
  test_input_required_result_tampered_state: {
    requests: { confirm: ask("Please confirm", "ok", { type: "boolean" }) },
    answer: (inputs) => (isConfirmed(inputs) ? "state-ok" : undefined),
    hasState: true,
  },
  test_input_required_result_multiple_inputs: {
    requests: {
      user_name: ask("What is your name?", "name"),
      greeting: askModel("Generate a greeting"),
      client_roots: inputRequired.listRoots(),
    },
    answer: (inputs) => (sampled(inputs, "greeting") === undefined ? undefined : nameOf(inputs, "user_name")),
    hasState: true,
  },
  test_missing_capability: { requests: { sample: askModel("Are you there?") }, answer: (inputs) => sampled(inputs, "sample") },
  test_streaming_elicitation: {
    requests: { user_name: ask("What is your name?", "name") },
    answer: (inputs) => nameOf(inputs, "user_name"),
  },
};

export function addInputTools(server: McpServer, states: RequestStateCodec): void {
  for (const [name, { requests, answer, hasState = false }] of Object.entries(inputTools)) {
    server.registerTool(name, { description: "Needs input" }, async (context) => {
      const answered = answer(context.mcpReq.inputResponses);
      if (answered !== undefined) return done(answered);
      const requestState = hasState ? await states.mint({ tool: name }, context) : undefined;
      return inputRequired({ inputRequests: { ...requests }, ...(requestState !== undefined && { requestState }) });
    });
  }
  server.registerTool("test_input_required_result_multi_round", { description: "Needs input twice" }, (context) =>
    twoRounds(context, states),
  );
  server.registerTool("test_input_required_result_capabilities", { description: "Asks what the client can answer" }, async (context) => {
    const requests = answerable(context);
    return Object.keys(requests).length === 0 ? done("nothing to ask") : inputRequired({ inputRequests: requests });
  });
  server.registerPrompt("test_input_required_result_prompt", { description: "Needs input" }, async ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_context")?.["context"];
    if (typeof given !== "string") {
      return inputRequired({ inputRequests: { user_context: ask("What context should the prompt use?", "context") } });
    }
    return { messages: [{ role: "user", content: { type: "text", text: given } }] };
  });
}

async function twoRounds(context: ServerContext, states: RequestStateCodec): Promise<CallToolResult | InputRequiredResult> {
  const { round = 0 } = context.mcpReq.requestState<{ round?: number }>() ?? {};
  if (round === 2) return done("both rounds are over");
  const requestState = await states.mint({ round: round + 1 }, context);
  const request =
    round === 0 ? { step1: ask("Step 1: What is your name?", "name") } : { step2: ask("Step 2: What is your favorite color?", "color") };
  return inputRequired({ inputRequests: request, requestState });
}

function answerable({ mcpReq }: ServerContext): Record<string, InputRequest> {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  const capabilities: object = envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
  return {
    ...("elicitation" in capabilities && { elicited: ask("What is your name?", "name") }),
    ...("sampling" in capabilities && { sampled: askModel("Say hello") }),
  };
}
