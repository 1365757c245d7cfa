/** The word of the list that was probably meant; undefined when none is near. */
export function nearestWord(typed: string, words: Iterable<string>): string | undefined {
  let best: string | undefined;
  // Every third letter may be wrong, but a word of one or two letters is not corrected into another.
  let bestDistance = Math.floor(typed.length / 3) + 1;
  for (const word of words) {
    const distance = word.startsWith(typed) && typed.length > 1 ? 0.5 : editDistance(typed, word);
    if (distance < bestDistance) [best, bestDistance] = [word, distance];
  }
  return best;
}

/** How many letters must be added, removed, replaced, or exchanged with their neighbour to turn one word into the other. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replace = (last[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const exchanged = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const exchange = exchanged ? (beforeLast[column - 2] ?? Infinity) + 1 : Infinity;
      current.push(Math.min(replace, exchange, (last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    [beforeLast, last] = [last, current];
  }
  return last[to.length] ?? 0;
}
