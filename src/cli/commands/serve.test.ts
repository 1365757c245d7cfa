import { expect, test } from "vitest";
import { agentbox } from "../../../test/world/run-cli.ts";
import type { ServePartsRequest } from "../context.ts";

async function asked(argv: readonly string[], env: Record<string, string> = {}) {
  let request: ServePartsRequest | undefined;
  const serveParts = async (given: ServePartsRequest): Promise<number> => {
    request = given;
    return 0;
  };
  const { stderr, code } = await agentbox(["serve", ...argv], { env, serveParts });
  return { request, stderr, code };
}

test("a gateway is told where the API is", async () => {
  expect((await asked(["gateway"])).request?.apiAddress).toBeUndefined();
  const byVariable = await asked(["gateway"], { AGENTBOX_API_ADDRESS: "agentbox-api.agentbox.svc:8080" });
  expect(byVariable.request?.apiAddress).toEqual({ host: "agentbox-api.agentbox.svc", port: 8080 });
  expect((await asked(["gateway", "--api-address", "[fd00::1]:80"])).request?.apiAddress).toEqual({ host: "fd00::1", port: 80 });
});

test.each(["agentbox-api", "agentbox-api:0", "agentbox-api:70000", "http://agentbox-api:80", ":80"])(
  "%s is no address of an API",
  async (text) => {
    const { stderr, code } = await asked(["gateway", "--api-address", text]);
    expect([stderr, code]).toEqual([expect.stringContaining("--api-address must be HOST:PORT"), 2]);
  },
);
