/** How many replicas of a pool plugins admit, in a bounded number of questions. */
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Admission, NamedRefusal, NamedVerdict } from "./plugin.ts";

/** Enough for a step of a thousand; a larger step ends a little below what would be admitted. */
export const maxQuestions = 12;

/**
 * All that is wanted first; then what the refusal says would fit; then by halves. A refusal that is about something else than the number
 * ends it: a smaller number would be refused too.
 */
export async function probeSize(
  ask: (pool: SandboxPool) => Promise<NamedVerdict<SandboxPool>>,
  pool: SandboxPool,
  wanted: number,
): Promise<Admission> {
  const present = pool.spec.replicas;
  if (wanted <= present) return { admitted: wanted };
  const refusalOf = async (replicas: number): Promise<NamedRefusal | undefined> => {
    const verdict = await ask({ ...pool, spec: { ...pool.spec, replicas } });
    return "refusal" in verdict ? verdict.refusal : undefined;
  };
  const refusal = await refusalOf(wanted);
  if (refusal === undefined) return { admitted: wanted };
  // `admitted` is known to be good, `refused` not to be.
  let [admitted, refused, next] = [present, wanted, nextOf(refusal, present, wanted)];
  for (let questions = 1; next !== undefined && questions < maxQuestions; questions++) {
    const again = await refusalOf(next);
    if (again === undefined) admitted = next;
    else refused = next;
    if (again !== undefined && again.kind !== "InsufficientResources") break;
    next = again === undefined ? halfWay(admitted, Math.min(refused, bound(refusal))) : nextOf(again, admitted, refused);
  }
  return { admitted, refusal };
}

/** Above what a plugin says would fit there is nothing to ask for. */
function bound({ wouldFit = Infinity }: NamedRefusal): number {
  return wouldFit + 1;
}

function nextOf({ kind, wouldFit }: NamedRefusal, admitted: number, refused: number): number | undefined {
  if (kind !== "InsufficientResources") return undefined;
  if (wouldFit === undefined) return halfWay(admitted, refused);
  if (wouldFit <= admitted) return undefined;
  return wouldFit < refused ? wouldFit : halfWay(admitted, refused);
}

function halfWay(admitted: number, refused: number): number | undefined {
  return refused - admitted <= 1 ? undefined : admitted + Math.floor((refused - admitted) / 2);
}
