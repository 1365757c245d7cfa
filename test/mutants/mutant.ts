/** A bug that a suite must notice: a piece of a source file and what stands in its place. */
export interface Mutant {
  /** What the bug does, as a reader of the result wants to know it. */
  readonly bug: string;
  readonly file: string;
  /** Must be in the file exactly once, so that the list cannot go on after the code has moved. */
  readonly find: string;
  readonly replace: string;
  /** The test files that must notice: those of the projects unit and contract. */
  readonly tests: readonly string[];
}

/** Several bugs of one file that the same tests must notice. */
export function bugsIn(
  file: string,
  tests: readonly string[],
  bugs: readonly (readonly [bug: string, find: string, replace: string])[],
): readonly Mutant[] {
  return bugs.map(([bug, find, replace]) => ({ bug, file, find, replace, tests }));
}

/** The file with the bug in it. Throws where the code is not what the list says. */
export function planted({ file, find, replace }: Mutant, source: string): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, and not once: ${find}`);
  if (find === replace) throw new Error(`${file}: the bug is no change: ${find}`);
  return parts.join(replace);
}

/** `count` of them, in the order of the list; the same ones for the same seed. */
export function sampled(mutants: readonly Mutant[], count: number, seed: string): readonly Mutant[] {
  const ranked = mutants.map((mutant) => ({ mutant, rank: rankOf(`${seed} ${mutant.file} ${mutant.find}`) }));
  const chosen = new Set(
    ranked
      .toSorted((a, b) => a.rank - b.rank)
      .slice(0, count)
      .map(({ mutant }) => mutant),
  );
  return mutants.filter((mutant) => chosen.has(mutant));
}

/** FNV-1a, with a last mix: equal ends of the texts must not make equal ends of the numbers. */
function rankOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
