import { expect, inject, test } from "vitest";
import { schemasOfServer } from "../../tools/kubernetes-shapes/from-server.ts";
import { readRecord } from "../../tools/kubernetes-shapes/recorded-shapes.ts";
import { adminRequests } from "./admin-requests.ts";

test("the recorded OpenAPI is what the API server of our version says (make kubernetes-shapes)", async () => {
  const admin = adminRequests(inject("kubernetes"));
  const read = async (path: string): Promise<unknown> => JSON.parse((await admin("GET", path)).text);
  const { kubernetes, schemas } = readRecord();
  expect(await schemasOfServer(read)).toEqual(schemas);
  expect(await read("/version")).toMatchObject({ gitVersion: kubernetes });
});
