/** Replaces text in a file's contents. Pure. */
import { mcpLimits } from "./limits.ts";

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  /** Every place; left out: there must be exactly one. */
  readonly replaceAll?: boolean;
}

export type Edited =
  | { readonly kind: "edited"; readonly text: string; readonly places: number }
  | { readonly kind: "refused"; readonly message: string };

/** One edit of several, of which it is the one at `index`. Its work and its result are bounded, so a caller can let others in between edits. */
export function editText(text: string, edit: Edit, index = 0): Edited {
  const { oldText, newText, replaceAll = false } = edit;
  const which = `edits[${index}]`;
  if (oldText === "") return refused(`${which}.oldText is empty: give the text to replace, with enough around it to be unique`);
  const places = placesOf(text, oldText);
  const found = places.length;
  if (found === 0) {
    return refused(
      `${which}.oldText does not occur in the file: it must match exactly, with spaces and line breaks; read_file shows the file`,
    );
  }
  if (found > mcpLimits.editPlaces) {
    return refused(
      `${which}.oldText occurs more than ${mcpLimits.editPlaces} times: give more of the text around it, or use run_command with sed`,
    );
  }
  if (found > 1 && !replaceAll) {
    return refused(`${which}.oldText occurs ${found} times: give more of the text around it so that it is unique, or set replaceAll`);
  }
  const length = text.length + found * (newText.length - oldText.length);
  if (length > mcpLimits.editedText) {
    return refused(
      `${which} makes a file of ${length} characters, and at most ${mcpLimits.editedText} are written: use run_command with sed`,
    );
  }
  return { kind: "edited", text: replaced(text, places, edit), places: found };
}

/**
 * Where the text stands, up to one place more than is taken. By Knuth, Morris and Pratt: its time grows with the lengths alone, where
 * indexOf takes seconds for a text that was made for it.
 */
function placesOf(text: string, wanted: string): readonly number[] {
  if (wanted.length > text.length) return [];
  const borders = bordersOf(wanted);
  const places: number[] = [];
  let matched = 0;
  for (let at = 0; at < text.length && places.length <= mcpLimits.editPlaces; at++) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === unit) matched += 1;
    if (matched < wanted.length) continue;
    places.push(at + 1 - wanted.length);
    matched = 0;
  }
  return places;
}

/** Of each beginning of the text, the longest end that is also its beginning. */
function bordersOf(wanted: string): Int32Array {
  const borders = new Int32Array(wanted.length);
  let matched = 0;
  for (let at = 1; at < wanted.length; at++) {
    const unit = wanted.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === unit) matched += 1;
    borders[at] = matched;
  }
  return borders;
}

function replaced(text: string, places: readonly number[], { oldText, newText }: Edit): string {
  const kept = [0, ...places.map((place) => place + oldText.length)].map((from, index) => text.slice(from, places[index]));
  return kept.join(newText);
}

function refused(message: string): Edited {
  return { kind: "refused", message };
}
