import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { httpStatus } from "../http/status.ts";
import { wholeApi } from "./fleet-routes.ts";

const page = readFileSync(new URL("../../../docs/rest-api.md", import.meta.url), "utf8");

test("the page about the API tells every error code with its status", () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)].map(([, code = "", status]) => [code, Number(status)]);
  expect(Object.fromEntries(rows)).toEqual(httpStatus);
});

test("every path in its examples is one that there is", () => {
  const known = Object.keys(wholeApi().paths).map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`));
  const used = [...page.matchAll(/(?:\$AGENTBOX_API_URL|GET |POST )(\/v1[\w/${}-]*)/g)].map(([, path = ""]) => path);
  expect(used.length).toBeGreaterThan(15);
  expect(used.filter((path) => !known.some((form) => form.test(path)))).toEqual([]);
});
