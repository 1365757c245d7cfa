/** Why a server could not be reached, in words: the codes of Node and its HTTP client mean nothing to their readers. Pure. */
const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection is refused: no server listens there",
  ECONNRESET: "the server closed the connection",
  EPIPE: "the server closed the connection",
  UND_ERR_SOCKET: "the server closed the connection before it answered",
  UND_ERR_CONNECT_TIMEOUT: "the server does not answer",
  UND_ERR_HEADERS_TIMEOUT: "the server took too long to answer",
  UND_ERR_BODY_TIMEOUT: "the server stopped in the middle of its answer",
  ETIMEDOUT: "the server does not answer",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no way to that network",
  ENOTFOUND: "there is no host of that name",
  EAI_AGAIN: "the name of the host cannot be looked up now",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted here: see agentbox trust",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted here: see agentbox trust",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted here: see agentbox trust",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not trusted here: see agentbox trust",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS: use http://",
  HPE_INVALID_CONSTANT: "what answers does not speak HTTP: for TLS use https://",
};

export function networkFailure(error: unknown): string {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code, message } = one as NodeJS.ErrnoException;
    const known = texts[code ?? ""];
    if (known !== undefined) return known;
    if (one instanceof AggregateError && one.errors.length > 0) return networkFailure(one.errors[0]);
    if (message === "unexpected redirect")
      return "the server answered with a redirect, which is not followed because the key would go with it";
  }
  return "the request failed";
}
