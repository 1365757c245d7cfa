/** Tables as kubectl lays them out: columns as wide as their widest cell and three spaces, nothing after the last one. */
export type Cell = string | number | boolean | undefined;

const padding = 3;
const minimumWidth = 6;

/** Lays out rows; what it has seen stays the width of a column, so that rows of a watch stand under those before. */
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

/** One line of a cell, with what could move the cursor made visible: a status text is written by others. */
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
