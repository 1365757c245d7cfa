/**
 * The names of the console's session cookie. Browsers send a cookie to every port of its host, so the gateway, which may be another port of the same host,
 * keeps it from sandboxes.
 */
export const consoleCookies = {
  plain: "agentbox_session",
  /** Browsers accept this name only from the host itself over TLS, so a page of a sandbox below the same domain cannot set it. */
  secure: "__Host-agentbox_session",
} as const;
