/**
 * The names of the console's cookies. Browsers send a cookie to every port of its host, so the gateway, which may be another port of the same host, keeps
 * them from sandboxes.
 */
export const consoleCookies = {
  session: "agentbox_session",
  /** While a person signs in at another server. */
  signIn: "agentbox_sign_in",
} as const;

/** What all of them contain. */
export const consoleCookieMark = "agentbox_s";

/** Browsers accept this name only from the host itself over TLS, so a page of a sandbox below the same domain cannot set it. */
export function secureCookieName(name: string): string {
  return `__Host-${name}`;
}
