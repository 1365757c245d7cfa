/** Webhooks: where a team is told what happens to its sandboxes. */
import type { HttpCaller } from "./http-caller.ts";

export interface WebhookInfo {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly events: readonly string[];
  readonly team?: string;
  readonly user?: string;
  readonly createdAt: string;
}

export interface NewWebhook {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly signatureSecret: string;
}

export interface WebhookDelivery {
  readonly state: "pending" | "dead";
  readonly attempts: number;
  readonly dueAt: string;
  readonly lastError?: string;
  readonly event: string;
  readonly sandboxId: string;
  readonly at: string;
}

const path = "/v1/webhooks";

/** All throw ClientError. */
export class WebhooksClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async create(wish: NewWebhook): Promise<WebhookInfo> {
    return await this.#http.json({ method: "POST", path, body: wish });
  }

  async list(signal?: AbortSignal): Promise<readonly WebhookInfo[]> {
    return (await this.#http.json<{ readonly webhooks: readonly WebhookInfo[] }>({ method: "GET", path, signal })).webhooks;
  }

  async setEnabled(id: string, enabled: boolean): Promise<WebhookInfo> {
    return await this.#http.json({ method: "PATCH", path: `${path}/${encodeURIComponent(id)}`, body: { enabled } });
  }

  async remove(id: string): Promise<void> {
    await this.#http.json({ method: "DELETE", path: `${path}/${encodeURIComponent(id)}` });
  }

  async deliveries(id: string, signal?: AbortSignal): Promise<readonly WebhookDelivery[]> {
    const answer = await this.#http.json<{ readonly deliveries: readonly WebhookDelivery[] }>({
      method: "GET",
      path: `${path}/${encodeURIComponent(id)}/deliveries`,
      signal,
    });
    return answer.deliveries;
  }
}
