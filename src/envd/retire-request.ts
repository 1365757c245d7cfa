import type { IncomingMessage } from "node:http";
import { header, isSignedRetire, publicKeyFromText } from "#envd-protocol/arming.ts";
import type { ArmedState } from "./armed-state.ts";
import { type Answer, type Identity, signedHeaders } from "./init-request.ts";

/** Resolves with true if no process of the sandbox is left. */
export type EndProcesses = () => Promise<boolean>;

/** Ends all processes of the sandbox, if the control plane signed the order. 501: some continue, and the container must be replaced at once. */
export async function answerRetire(
  { podUid, controlPlaneKey }: Identity,
  { state, endProcesses }: { readonly state: ArmedState; readonly endProcesses: EndProcesses },
  request: IncomingMessage,
): Promise<Answer> {
  const { sandboxId, signature } = signedHeaders(request);
  if (sandboxId === undefined || signature === undefined) {
    return { status: 401, message: `a /retire carries the headers ${header.sandboxId} and ${header.signature}` };
  }
  if (!isSignedRetire(publicKeyFromText(controlPlaneKey), { podUid, sandboxId }, signature)) {
    return { status: 401, message: "the signature is not the control plane's for this pod and sandbox" };
  }
  if (state.retire(sandboxId) === "taken") return { status: 409, message: `this sandbox is armed as ${state.sandboxId}` };
  if (await endProcesses()) return { status: 204 };
  return { status: 501, message: "there are processes here that this daemon cannot end" };
}
