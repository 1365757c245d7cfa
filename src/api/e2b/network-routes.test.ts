import { describe, expect, test } from "vitest";
import { E2bScene, running } from "../../../test/world/e2b-scene.ts";

describe("the network of a running sandbox", () => {
  test.each([
    [
      { allowOut: ["1.1.1.1"], denyOut: ["0.0.0.0/0"] },
      { internet: false, allow: ["1.1.1.1"], deny: [] },
    ],
    [
      { denyOut: ["8.8.8.0/24"], allow_internet_access: true },
      { internet: true, allow: [], deny: ["8.8.8.0/24"] },
    ],
    [{ allow_internet_access: false }, { internet: false, allow: [], deny: [] }],
    [{ rules: {}, egressProxy: null }, undefined],
    [{}, undefined],
  ])("%j is all that holds from then on", async (body, egress) => {
    const scene = new E2bScene();
    expect((await scene.ask("PUT /sandboxes/abc/network", body)).status).toBe(204);
    expect(scene.asked).toEqual([["abc", egress]]);
  });

  test.each([
    [{ rules: { "api.test": [{}] } }, 501],
    [{ egressProxy: { address: "1.1.1.1:1080" } }, 501],
    [{ allowOut: ["beef.cafe"], denyOut: ["0.0.0.0/0"] }, 501],
    [{ denyOut: ["evil.test"] }, 400],
    [{ allowOut: [{}] }, 400],
  ])("%j is refused", async (body, status) => {
    const scene = new E2bScene();
    expect(await scene.ask("PUT /sandboxes/abc/network", body)).toMatchObject({ status, json: { code: status } });
    expect(scene.asked).toEqual([]);
  });

  test("is shown with its details", async () => {
    const scene = new E2bScene();
    expect((await scene.ask("GET /sandboxes/abc")).json).toMatchObject({
      allowInternetAccess: true,
      network: { allowPublicTraffic: true },
    });
    const egress = { internet: false, allow: ["1.1.1.1"], deny: ["1.1.1.2"] };
    scene.detail = { ...running, egress, privateTraffic: true, maskHost: "localhost:${PORT}" };
    expect((await scene.ask("GET /sandboxes/abc")).json).toMatchObject({
      allowInternetAccess: false,
      network: {
        allowOut: ["1.1.1.1"],
        denyOut: ["0.0.0.0/0", "1.1.1.2"],
        allowPublicTraffic: false,
        maskRequestHost: "localhost:${PORT}",
      },
    });
  });

  test("of one that does not exist cannot be changed", async () => {
    expect((await new E2bScene().ask("PUT /sandboxes/nope/network", {})).status).toBe(404);
  });
});
