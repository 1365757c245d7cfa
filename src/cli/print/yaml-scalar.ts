import { needsQuotes } from "./yaml-plain.ts";

/**
 * Writes a string as a YAML scalar in the style that kubectl chooses: plain, quoted, or a literal block. Long texts are broken at the first space after
 * column 80.
 */
export interface Place {
  /** A key must be on one line: no block, no line breaks. */
  readonly key: boolean;
  /** The indent of further lines. */
  readonly indent: string;
  /** Column at which the scalar begins. */
  readonly column: number;
}

const width = 80;

/** The first line continues the current line; further lines include their indent. */
export function scalarText(text: string, place: Place): string[] {
  const double = (): string[] => folded(doubleQuoted(text), place);
  if (text.includes("\n")) return !place.key && blockFits(text) ? literal(text, place.indent) : double();
  if (needsQuotes(text) || !isPrintable(text) || /[\u2028\u2029]/.test(text)) return double();
  return folded(isPlain(text) ? Array.from(text) : singleQuoted(text), place);
}

/** Joins the written characters, with a line break instead of a space where the line is too long. */
function folded(written: readonly string[], place: Place): string[] {
  if (place.key) return [written.join("")];
  const lines: string[] = [];
  let line = "";
  let column = place.column;
  for (const [index, piece] of written.entries()) {
    if (piece === " " && column > width && mayBreak(written, index)) {
      lines.push(line);
      line = place.indent;
      column = line.length;
      // A reader skips a space at the beginning of a line; only the double quoted style can keep it.
      if (written[index + 1] === " ") line += "\\";
    } else {
      line += piece;
      column += piece.length;
    }
  }
  return [...lines, line];
}

function mayBreak(written: readonly string[], index: number): boolean {
  const [before, after] = [written[index - 1], written[index + 1]];
  const quote = written[0] === '"' || written[0] === "'" ? written[0] : "";
  if (before === " " || after === undefined) return false;
  if (quote !== "" && (index === 1 || index === written.length - 2)) return false;
  return after !== " " || quote === '"';
}

function literal(text: string, indent: string): string[] {
  const hint = /^[ \n]/.test(text) ? "2" : "";
  const lines = text.replace(/\n$/, "").split("\n");
  return [`|${hint}${chomping(text)}`, ...lines.map((line) => (line === "" ? "" : indent + line))];
}

/** The indicator for trailing line breaks: none, one, or all. */
function chomping(text: string): string {
  if (!text.endsWith("\n")) return "-";
  return text === "\n" || text.endsWith("\n\n") ? "+" : "";
}

/** Editors lose spaces at the end of a line, and invisible characters must be escaped. */
function blockFits(text: string): boolean {
  return !/ (\n|$)/.test(text) && isPrintable(text);
}

/** True if no character has a special meaning in YAML. */
function isPlain(text: string): boolean {
  if (/^ | $/.test(text) || text.startsWith("---") || text.startsWith("...")) return false;
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[-?:]( |$)/.test(text)) return false;
  return !/:( |$)/.test(text) && !/ #/.test(text);
}

/** Control characters, the byte order mark, surrogates and characters beyond 16 bits are escaped. */
function isPrintable(text: string): boolean {
  return /^[\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/.test(text);
}

const escapes: Readonly<Record<string, string>> = {
  "\0": "0",
  "\u0007": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\u001b": "e",
  '"': '"',
  "\\": "\\",
  "\u0085": "N",
  "\u2028": "L",
  "\u2029": "P",
};

/** The characters of a quoted scalar as they are written, each with its escape. */
function doubleQuoted(text: string): string[] {
  return ['"', ...Array.from(text, quotedCharacter), '"'];
}

function singleQuoted(text: string): string[] {
  return ["'", ...Array.from(text, (character) => (character === "'" ? "''" : character)), "'"];
}

function quotedCharacter(character: string): string {
  const short = escapes[character];
  if (short !== undefined) return `\\${short}`;
  if (isPrintable(character)) return character;
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
