import { expect, test } from "vitest";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import { type ScriptedApi, scriptedApi } from "../../../test/world/scripted-api.ts";

function run(api: ScriptedApi, argv: readonly string[]): Promise<Said> {
  return agentbox(argv, { env: { AGENTBOX_API_URL: api.url, AGENTBOX_API_KEY: "e2b_x" } });
}

const calls = (api: ScriptedApi): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

test("inspect shows the description and documentation of a template, or that it has none", async () => {
  let markdown = "# How\nLike this.\n";
  const template = { metadata: { name: "base" }, spec: { version: "v1.0.0", description: "Python" } };
  await using api = await scriptedApi(({ path }) => ({ body: path.endsWith("/docs") ? { markdown } : template }));
  const said = await run(api, ["inspect", "template/base"]);
  expect(said.stdout).toContain("description: Python");
  expect(said.stdout).toMatch(/\n\n# How\nLike this\.\n$/);
  expect(JSON.parse((await run(api, ["inspect", "sbt/base", "-o", "json"])).stdout)).toMatchObject({ name: "base", docs: markdown });
  markdown = "";
  expect((await run(api, ["inspect", "template/base"])).stdout).toContain("has no documentation");
  expect(calls(api).slice(0, 2).sort()).toEqual(["GET /v1/templates/base", "GET /v1/templates/base/docs"]);
});
