/**
 * An OpenID Connect provider as a program: `node run-oidc-provider.ts REDIRECT_URI`. It writes its issuer to standard output. People are who they say, and
 * their name says their groups: `ann.platform.staff` is ann in the groups platform and staff.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

const [redirectUri = ""] = process.argv.slice(2);
const server = createServer().listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const provider = new Provider(issuer, {
  clients: [
    { client_id: "agentbox", client_secret: "a secret of the client's", redirect_uris: [redirectUri] },
    { client_id: "public", token_endpoint_auth_method: "none", redirect_uris: [redirectUri] },
  ],
  scopes: ["openid", "profile", "groups"],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, { uid }) => `/login/${uid}` },
  findAccount: (_context, accountId) => {
    const [name = "", ...groups] = accountId.split(".");
    return { accountId, claims: () => ({ sub: accountId, preferred_username: name, groups }) };
  },
  // Signing in is agreeing.
  loadExistingGrant: async ({ oidc }) => {
    const { client, session } = oidc;
    if (client === undefined || session?.accountId === undefined) return undefined;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope("openid profile groups");
    await grant.save();
    return grant;
  },
});

const page = `<!doctype html><title>Provider</title><form method="post"><label>Name <input name="name"></label>
<button name="action" value="login">Continue</button><button name="action" value="cancel">Cancel</button></form>`;

server.on("request", (request, response) => {
  const isLogin = request.url?.startsWith("/login/") === true;
  if (!isLogin) return void provider.callback()(request, response);
  if (request.method === "GET") return void response.setHeader("content-type", "text/html").end(page);
  void (async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const login = { accountId: form.get("name") ?? "" };
    const result = form.get("action") === "cancel" ? { error: "access_denied", error_description: "<b>no</b>" } : { login };
    await provider.interactionFinished(request, response, result);
  })();
});
process.stdout.write(`${issuer}\n`);
