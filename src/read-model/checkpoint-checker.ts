import type { Checkpoint } from "#model/checkpoint.ts";
import { failed, satisfied, type Verdict, waiting } from "#kube/wait/verdict.ts";

/** Taken, and known by an id that sandboxes can be made from. */
export function checkCheckpointTaken({ metadata, status }: Checkpoint): Verdict {
  const { phase = "Pending", message = "", checkpointId = "" } = status ?? {};
  const why = message === "" ? "" : `: ${message}`;
  if (metadata.deletionTimestamp !== undefined || phase === "Terminating") {
    return failed("Terminating", `the checkpoint is being removed${why}`);
  }
  if (phase === "Failed") return failed("Failed", `the checkpoint failed${why}`);
  if (phase !== "Succeeded") return waiting(`the checkpoint is ${phase}${why}`);
  if (checkpointId === "") return failed("NoCheckpointId", "the checkpoint succeeded without an id, so nothing can be made from it");
  return satisfied;
}
