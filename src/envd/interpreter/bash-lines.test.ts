import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bashText } from "./bash-lines.ts";

test("any text is one line for bash, and means itself", () => {
  const texts = fc.array(
    fc.oneof(fc.string(), fc.constantFrom("'", "\\", "\n", "\r", "$x", "`", "!!", "\\n", "ü")).map((text) => text.replaceAll("\0", "")),
    { minLength: 1, maxLength: 200 },
  );
  fc.assert(
    fc.property(texts, (given) => {
      const lines = given.map((text) => `printf '%s\\0' ${bashText(text)}`);
      expect(lines.every((line) => !line.includes("\n"))).toBe(true);
      const said = execFileSync("bash", [], { input: lines.join("\n"), encoding: "utf8" });
      expect(said.split("\0").slice(0, -1)).toEqual(given);
    }),
    { numRuns: 20 },
  );
});
