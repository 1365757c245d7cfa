/** What it means when a pod's node, or the server in between, refuses to show a log or run a command. */
import { ApiError, isApiError } from "#kube/api-error.ts";
import { PodAccessError } from "#kube/pod-access.ts";

interface Meaning {
  readonly said: RegExp;
  readonly make: (message: string) => Error;
}

const notFound = (message: string): Error => new PodAccessError("not_found", message);
const notRunning = (message: string): Error => new PodAccessError("not_running", message);
/** The server's message names the node's address, which callers must not see. */
const unreachable = (): Error => new ApiError("ServiceUnavailable", "the node of the pod does not answer now");

/** Kubelets have no codes for these: all of them come as 400 or 500 with a text. The first that fits is taken. */
const meanings: readonly Meaning[] = [
  { said: /previous terminated container .* not found/, make: notFound },
  { said: /container .* is not valid for pod/, make: notFound },
  { said: /waiting to start|is terminated|not running|container not found|cannot exec in a stopped|is paused/i, make: notRunning },
  { said: /pod .*(does not exist|not found|has not been scheduled|does not have a host assigned)/i, make: notRunning },
  { said: /dial tcp|dialing|proxy error|connection refused|no route to host|i\/o timeout|no such host|TLS handshake/i, make: unreachable },
];

export function accessError(error: unknown): unknown {
  if (isApiError(error, "NotFound")) return notFound(error.message);
  if (!isApiError(error, "BadRequest", "InternalError", "ServiceUnavailable", "Unknown")) return error;
  return meanings.find(({ said }) => said.test(error.message))?.make(error.message) ?? error;
}
