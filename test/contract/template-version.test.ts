import { expect, test } from "vitest";
import type { JsonObject } from "#model/meta.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { aTemplate } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

const risingVersions = [
  ["v1.2.0", "v1.2.1"],
  ["v1.9.0", "v1.10.0"],
  ["1.99.99", "v2.0.0"],
  ["1.0.0-rc1", "1.0.0"],
  ["1.0.0-rc.9", "1.0.0-rc.10"],
  ["1.0.0-alpha", "1.0.0-beta"],
  ["1.0.0", "1.0.1-alpha"],
  ["1.2.3+build.9", "1.2.4"],
  ["", "0.0.1"],
] as const;

// What is refused stands in bad-templates.ts.
describeServers("the version of a template", (server) => {
  let made = 0;
  async function expectUpdated(from: JsonObject, to: JsonObject): Promise<unknown> {
    const { client } = server();
    const name = `version-${process.pid}-${made++}`;
    const { metadata } = await client.create(SandboxTemplates, aTemplate(name, from));
    const updated = await client.patch(SandboxTemplates, { name }, { type: "merge", body: to });
    await client.delete(SandboxTemplates, { name });
    expect(updated.metadata.uid).toBe(metadata.uid);
    return updated;
  }

  test.each(risingVersions)("%s may be followed by %s", async (from, to) => {
    await expectUpdated({ version: from, idleImage: "a" }, { spec: { version: to, idleImage: "b" } });
  });

  test("may stay when only texts for people change", async () => {
    await expectUpdated(
      { version: "v1.0.0" },
      { spec: { description: "better words" }, metadata: { annotations: { "agentbox.navix.sh/docs": "# Hi" } } },
    );
  });

  test("need not be there at all", async () => {
    await expectUpdated({ idleImage: "a" }, { spec: { idleImage: "b" } });
  });
});
