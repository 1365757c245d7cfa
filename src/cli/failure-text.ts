/** Error messages in the words and layout of kubectl, which people and scripts know. */
import { type ClientError, isClientError } from "#client/client-error.ts";
import { type ApiError, isApiError, type StatusCause } from "#kube/api-error.ts";
import type { PoolStanding } from "#model/error-codes.ts";
import { CliError, ManyErrors } from "./failure.ts";

export interface FailureTextOptions {
  /** Errors that point to a bug: their stack helps its developer. */
  readonly debug?: boolean;
}

export function failureText(error: unknown, { debug = false }: FailureTextOptions = {}): string {
  if (error instanceof ManyErrors) return error.errors.map((one) => `${oneOfMany(one, debug)}\n`).join("") + hint(...error.errors);
  if (isApiError(error, "Invalid")) return `${invalidText(error)}\n`;
  if (isApiError(error)) return `${serverText(error)}\n${hint(error)}`;
  if (isClientError(error)) return `error: ${clientText(error)}\n`;
  const text = error instanceof CliError ? error.message : defectText(error, debug);
  return text.startsWith("error: ") || error instanceof NoPrefix ? `${text}\n` : `error: ${text}\n`;
}

/** A message without the prefix `error:`. */
export class NoPrefix extends CliError {}

/** Each error gets a message of its own. */
function oneOfMany(error: unknown, debug: boolean): string {
  if (isApiError(error)) return serverText(error);
  if (isClientError(error)) return clientText(error);
  return error instanceof CliError ? error.message : defectText(error, debug);
}

function serverText(error: ApiError): string {
  if (error.reason === "Unauthorized") return `error: You must be logged in to the server (${error.message})`;
  if (error.reason === "Unknown") return `Error from server: ${error.message}`;
  if (error.reason === "Unreachable") return `Unable to connect to the server: ${error.message}`;
  return `Error from server (${error.reason}): ${error.message}`;
}

/** For failures that lie outside of the command: the machine, the installation, the way to the server. */
const askDoctor = "agentbox doctor finds out what is wrong";

/** The API's message, with advice where we have some. */
function clientText(error: ClientError): string {
  if (error.code === "unauthenticated") return `${error.message}. See AGENTBOX_API_KEY, or keys/admin.key in the data folder`;
  if (error.code === "unreachable") return `${error.message}. Start AgentBox with: make up, or see AGENTBOX_API_URL. ${askDoctor}`;
  if (error.code === "internal") return `${error.message} (request ${error.requestId ?? "without an id"})`;
  const { available = [], pool, env, retryAfterSeconds } = error.details;
  const isFull = error.code === "no_capacity" || error.code === "queue_full";
  const more = [
    ...(available.length === 0 ? [] : [`there is ${available.join(", ")}`]),
    ...(pool === undefined ? [] : [poolText(pool, env)]),
    ...(retryAfterSeconds === undefined ? [] : [`try again in ${retryAfterSeconds} s`]),
    ...(isFull && env === undefined ? ["or make the pool larger with: agentbox scale POOL NUMBER"] : []),
  ];
  return [error.message, ...more].join("; ");
}

function poolText({ idle, starting, running, stopping, waiting }: PoolStanding, env: string | undefined): string {
  const which = env === undefined ? "the pool has" : `the pools of Env ${env} have`;
  return `${which} ${idle} idle pods, ${starting} starting, ${running} running, ${stopping} stopping, and ${waiting} requests wait`;
}

/** A client is created only if the server's socket accepts connections, so the server stopped after that. */
function hint(...errors: readonly unknown[]): string {
  const lost = errors.some((error) => isApiError(error, "Unreachable"));
  return lost ? `AgentBox has stopped or was restarted. Start it with: make up. ${askDoctor}\n` : "";
}

function invalidText(error: ApiError): string {
  const { kind = "", name = "" } = error.details;
  const named = kind !== "" || name !== "";
  const subject = named ? `The ${kind} ${JSON.stringify(name)} is invalid` : "The request is invalid";
  const causes = [...new Set(error.causes.map((cause: StatusCause) => `${cause.field}: ${cause.message}`))];
  if (causes.length === 0) return named ? subject : `${subject}: ${error.message}`;
  if (causes.length === 1) return `${subject}: ${causes[0] ?? ""}`;
  return `${subject}: \n${causes.map((cause) => `* ${cause}`).join("\n")}`;
}

/** A stack helps only developers, so it is shown on request. */
function defectText(error: unknown, debug: boolean): string {
  if (debug && error instanceof Error) return error.stack ?? error.message;
  // System errors (no space, no permission) are not bugs of ours; their text names the call and the file.
  if (error instanceof Error && "syscall" in error) return error.message;
  return `this is a bug in AgentBox: ${String(error).replaceAll(/\s*\n\s*/g, " ")}; set AGENTBOX_DEBUG=1 to see the stack`;
}
