/** Sends create requests from a separate process, so that the server under test has a core of its own. Started by ask.ts. */
import { Agent } from "undici";
import type { Answer, Order } from "./ask.ts";

process.on("message", (order: Order) => void run(order).then((answer) => process.send?.(answer)));
process.on("disconnect", () => process.exit(0));

async function run(order: Order): Promise<Answer> {
  const { url, apiKey, body, count, parallel, perSecond, endAfterMs } = order;
  const agent = new Agent({ connections: 512, pipelining: 1 });
  const ms: number[] = [];
  const ids: string[] = [];
  const failures: Record<string, number> = {};
  const ends: Promise<void>[] = [];
  const end = async (id: string): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, endAfterMs));
    const answer = await agent.request({
      origin: url,
      path: `/v1/sandboxes/${id}`,
      method: "DELETE",
      headers: { "agentbox-api-key": apiKey },
    });
    await answer.body.dump();
  };
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
      const { sandboxId } = (JSON.parse(text) as { sandbox: { sandboxId: string } }).sandbox;
      ids.push(sandboxId);
      if (endAfterMs !== undefined) ends.push(end(sandboxId));
    } else {
      const why = `${answer.statusCode} ${text.slice(0, 200)}`;
      failures[why] = (failures[why] ?? 0) + 1;
    }
  };
  const began = performance.now();
  if (perSecond === undefined) await closedLoop(count, parallel, one);
  else await openLoop(dueTimes(order), one);
  const tookMs = performance.now() - began;
  await Promise.all(ends);
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

/** Milliseconds from the beginning. */
function dueTimes({ count, perSecond = 1, isPoisson = false }: Order): readonly number[] {
  const times: number[] = [];
  for (let at = 0; times.length < count; at += (isPoisson ? -Math.log(1 - Math.random()) : 1) * (1000 / perSecond)) times.push(at);
  return times;
}

/** Whether or not those before have been answered; each is timed from when it was due. */
async function openLoop(times: readonly number[], one: (since: number) => Promise<void>): Promise<void> {
  const began = performance.now();
  const under: Promise<void>[] = [];
  for (const time of times) {
    const due = began + time;
    while (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    under.push(one(due));
  }
  await Promise.all(under);
}
