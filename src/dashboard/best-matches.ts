/** Which of many things a few letters mean. Pure. */
export interface Choice {
  readonly name: string;
  readonly about: string;
}

/** Best first: what begins with the text, then what holds it, then what holds its letters in this order. All of them for no text. */
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
