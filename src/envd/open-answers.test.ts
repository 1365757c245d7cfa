import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { ArmedState } from "./armed-state.ts";
import { breakOffAtEnd } from "./open-answers.ts";

test("an answer that is under way when the sandbox ends breaks off, whatever is still said, and a spared one does not", async () => {
  const state = new ArmedState();
  const server = createServer((_, response) => {
    response.write("begun\n");
    state.onRetired(() => response.end("the end of what was killed\n"));
  });
  breakOffAtEnd(server, state, ({ url }) => url === "/retire");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [stream, spared] = await Promise.all([fetch(`${url}/stream`), fetch(`${url}/retire`)]);
  state.retire("sandbox-1");
  await expect(stream.text()).rejects.toThrow("terminated");
  expect(await spared.text()).toBe("begun\nthe end of what was killed\n");
  await new Promise((resolve) => server.close(resolve));
});
