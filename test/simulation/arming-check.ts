/** Whether an answered sandbox is one (I5): a pod carries it, and the daemon in its container works for it. */
import type { Judge } from "./judge.ts";
import type { Ledger, Request } from "./ledger.ts";
import type { SimulatedNode } from "./node.ts";

export interface ArmingDeps {
  readonly ledger: Ledger;
  readonly judge: Judge;
  readonly node: SimulatedNode;
}

export function checkArmed({ ledger, judge, node }: ArmingDeps, request: Request, sandboxId: string): void {
  const sandbox = ledger.sandboxes.get(sandboxId);
  if (sandbox === undefined) {
    judge.violate("I5", `${request.name} was answered ${sandboxId}, which no pod ever carried`);
    return;
  }
  if (sandbox.request !== request) {
    judge.violate("I1", `${request.name} was answered ${sandboxId}, which belongs to ${sandbox.request?.name ?? "nobody"}`);
    return;
  }
  const pod = node.pod(sandbox.podUid);
  const serving = node.pods().find(({ container }) => container?.armedFor === sandboxId);
  // What the world did to the pod meanwhile, its client will hear of later.
  const isExcused = ledger.wasHit(sandbox.podUid) || sandbox.hasEnded;
  judge.hold(
    "I5",
    isExcused || (serving !== undefined && serving === pod),
    () => `${request.name} was answered ${sandboxId}, and no daemon works for it`,
  );
}
