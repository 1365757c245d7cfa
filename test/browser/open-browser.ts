/** Debian's Chromium, with all that its pages complain about, ask for and receive. */
import { type Browser, chromium, type Page } from "playwright-core";

const executablePath = "/usr/bin/chromium";
const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export class OpenBrowser {
  readonly #browser: Browser;
  readonly #complaints: string[] = [];
  readonly #requests = new Set<string>();

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<OpenBrowser> {
    return new OpenBrowser(await chromium.launch({ executablePath, args: flags }));
  }

  /** In a profile of its own. */
  async page(): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 820 } });
    const page = await context.newPage();
    page.setDefaultTimeout(45_000);
    page.on("pageerror", (error) => this.#complaints.push(`thrown: ${error.message}`));
    page.on("console", (message) => {
      // The network's own lines tell what answers a page got, such as that of a wrong key.
      const isOfNetwork = /^Failed to load resource|net::ERR/.test(message.text());
      if (message.type() === "error" && !isOfNetwork) this.#complaints.push(message.text());
    });
    page.on("request", (request) => this.#requests.add(new URL(request.url()).origin));
    return page;
  }

  /** What a page has received so far, the stream of changes included. */
  received(page: Page): () => string {
    const texts: string[] = [];
    const listen = async (): Promise<void> => {
      const session = await page.context().newCDPSession(page);
      const add = (data = ""): void => void texts.push(Buffer.from(data, "base64").toString("utf8"));
      session.on("Network.dataReceived", ({ data }) => add(data));
      session.on("Network.responseReceived", ({ requestId }) => {
        const streamed = session.send("Network.streamResourceContent", { requestId });
        streamed.then(({ bufferedData }) => add(bufferedData)).catch(() => {});
      });
      await session.send("Network.enable");
    };
    void listen();
    return () => texts.join("");
  }

  foreignRequests(own: string): readonly string[] {
    return [...this.#requests].filter((origin) => origin !== own && origin !== "null");
  }

  complaints(): readonly string[] {
    return this.#complaints;
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}
