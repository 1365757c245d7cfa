import { describe, expect, test } from "vitest";
import { TableText } from "./table-text.ts";

describe("a table", () => {
  test("has columns as wide as their widest cell, and nothing behind the last", () => {
    const rows = [
      ["NAME", "READY", "AGE"],
      ["a-long-name", 1, "5s"],
      ["b", undefined, undefined],
    ];
    expect(new TableText().lay(rows)).toBe("NAME          READY   AGE\na-long-name   1       5s\nb                     \n");
  });

  test("has columns of at least six characters", () => {
    expect(new TableText().lay([["a", "b"]])).toBe("a     b\n");
  });

  test("keeps its widths for rows that come later", () => {
    const table = new TableText();
    table.lay([["a-long-name", "x"]]);
    expect(table.lay([["b", "y"]])).toBe("b             y\n");
  });

  test("counts characters, not their halves", () => {
    expect(
      new TableText().lay([
        ["😀😀😀😀", "x"],
        ["abcd", "y"],
      ]),
    ).toBe("😀😀😀😀   x\nabcd   y\n");
  });

  test("shows only the first line of a cell", () => {
    expect(new TableText().lay([["one\ntwo", "a\rb"]])).toBe("one...   a...\n");
  });

  test("does not let a cell send commands to the terminal", () => {
    expect(new TableText().lay([["\u001b[31mred"]])).toBe("^[[31mred\n");
  });
});
