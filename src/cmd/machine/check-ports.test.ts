import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { checkPorts } from "./check-ports.ts";

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)))));

async function taken(): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const wanted = (whose: string, port: number) => ({ whose, host: "127.0.0.1", port, remedy: `Choose another for ${whose}.` });

test("every port that is taken is named, with what it is for, the process that holds it and what to do; free ones are not", async () => {
  const [first, second] = [await taken(), await taken()];
  const failed = checkPorts([wanted("the API", first), wanted("the gateway", 0), wanted("the gateway with TLS", second)]);
  await expect(failed).rejects.toThrow(
    new RegExp(
      `^port ${first} of the API is in use by process ${process.pid} \\(.+\\). Choose another for the API.\\n` +
        `port ${second} of the gateway with TLS is in use by process ${process.pid} \\(.+\\). Choose another for the gateway with TLS.$`,
    ),
  );
});

test("free ports are left free", async () => {
  const port = await taken();
  await new Promise((resolve) => servers.pop()?.close(resolve));
  for (let time = 0; time < 2; time++) await expect(checkPorts([wanted("the API", port)])).resolves.toBeUndefined();
});
