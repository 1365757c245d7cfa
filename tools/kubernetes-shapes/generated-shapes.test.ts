import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generatedShapes } from "./generated-shapes.ts";

test.each(Object.entries(generatedShapes()))("%s is what the recorded OpenAPI makes of it (make generate)", (file, text) => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).toBe(text);
});
