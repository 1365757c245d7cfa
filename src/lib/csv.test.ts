import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";

test("cells with commas, quotes and line ends are quoted", () => {
  expect(csvLine(["a", 1.5, undefined, 'say "x", y', "two\nlines"])).toBe('a,1.5,,"say ""x"", y","two\nlines"\r\n');
});

test("a text that a spreadsheet would run as a formula begins with an apostrophe", () => {
  expect(csvLine(["=1+1", "+x", "-x", "@x", '=HYPERLINK("a","b")', -2])).toBe(`'=1+1,'+x,'-x,'@x,"'=HYPERLINK(""a"",""b"")",-2\r\n`);
});
