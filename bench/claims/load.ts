/** Asks for sandboxes over HTTP from a process of its own, so that whoever is asked has its core for itself. Started by ask.ts. */
import { Agent } from "undici";
import type { Answer, Order } from "./ask.ts";

process.on("message", (order: Order) => void run(order).then((answer) => process.send?.(answer)));
process.on("disconnect", () => process.exit(0));

async function run({ url, apiKey, body, count, parallel, perSecond }: Order): Promise<Answer> {
  const agent = new Agent({ connections: 512, pipelining: 1 });
  const ms: number[] = [];
  const ids: string[] = [];
  const failures: Record<string, number> = {};
  const one = async (since: number): Promise<void> => {
    const answer = await agent.request({
      origin: url,
      path: "/v1/sandboxes",
      method: "POST",
      headers: { "content-type": "application/json", "agentbox-api-key": apiKey },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode === 201) {
      ms.push(performance.now() - since);
      ids.push((JSON.parse(text) as { sandbox: { sandboxId: string } }).sandbox.sandboxId);
    } else {
      const why = `${answer.statusCode} ${text.slice(0, 200)}`;
      failures[why] = (failures[why] ?? 0) + 1;
    }
  };
  const began = performance.now();
  if (perSecond === undefined) await closedLoop(count, parallel, one);
  else await openLoop(count, perSecond, one);
  const tookMs = performance.now() - began;
  await agent.close();
  return { ms, ids, failures, tookMs };
}

async function closedLoop(count: number, parallel: number, one: (since: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next++ < count) await one(performance.now());
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

/** Whether or not those before have been answered; each is timed from when it was due. */
async function openLoop(count: number, perSecond: number, one: (since: number) => Promise<void>): Promise<void> {
  const began = performance.now();
  const under: Promise<void>[] = [];
  for (let index = 0; index < count; index++) {
    const due = began + (index * 1000) / perSecond;
    while (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    under.push(one(due));
  }
  await Promise.all(under);
}
