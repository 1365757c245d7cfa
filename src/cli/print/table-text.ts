/** Tables as kubectl prints them: columns as wide as their widest cell plus three spaces, no spaces at the end of a line. */
export type Cell = string | number | boolean | undefined;

const padding = 3;
const minimumWidth = 6;

/** Lays out rows. Columns keep the width they have reached, so that later rows of a watch line up. */
export class TableText {
  readonly #widths: number[] = [];

  /** All rows as text, one line each. Rows must have the same number of cells. */
  lay(rows: readonly (readonly Cell[])[]): string {
    const texts = rows.map((row) => row.map(cellText));
    for (const row of texts) {
      for (const [column, text] of row.entries()) {
        this.#widths[column] = Math.max(this.#widths[column] ?? minimumWidth, lengthOf(text) + padding);
      }
    }
    return texts.map((row) => this.#line(row)).join("");
  }

  #line(row: readonly string[]): string {
    const last = row.length - 1;
    const cells = row.map((text, column) => (column === last ? text : text + " ".repeat((this.#widths[column] ?? 0) - lengthOf(text))));
    return `${cells.join("")}\n`;
  }
}

/** One line of a cell, with control characters made visible: a status text may come from anyone. */
function cellText(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell !== "string") return String(cell);
  const end = cell.search(/[\f\n\r]/);
  const line = end < 0 ? cell : `${cell.slice(0, end)}...`;
  return line.replaceAll("\u001b", "^[");
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
