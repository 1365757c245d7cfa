/** Finds the entries that match a few letters. Pure. */
export interface Choice {
  readonly name: string;
  readonly about: string;
}

/** Best first: entries that begin with the text, then those that contain it, then those that contain its letters in order. All entries for an empty text. */
export function bestMatches<T extends Choice>(choices: readonly T[], text: string, most: number): readonly T[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return choices.slice(0, most);
  const found: T[][] = [[], [], [], []];
  for (const choice of choices) {
    const rank = rankOf(choice, wanted);
    if (rank !== undefined) found[rank]?.push(choice);
  }
  return found.flat().slice(0, most);
}

function rankOf({ name, about }: Choice, wanted: string): number | undefined {
  const text = name.toLowerCase();
  if (text.startsWith(wanted)) return 0;
  if (text.includes(wanted)) return 1;
  if (`${about} ${text}`.toLowerCase().includes(wanted)) return 2;
  return hasInOrder(text, wanted) ? 3 : undefined;
}

function hasInOrder(text: string, letters: string): boolean {
  let from = 0;
  for (const letter of letters) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}
