/** Why a server could not be reached, in words: users do not know the error codes of Node and its HTTP client. Pure. */
const texts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused: no server listens there",
  ECONNRESET: "the server closed the connection",
  EPIPE: "the server closed the connection",
  UND_ERR_SOCKET: "the server closed the connection before it answered",
  UND_ERR_CONNECT_TIMEOUT: "the server does not answer",
  UND_ERR_HEADERS_TIMEOUT: "the server took too long to answer",
  UND_ERR_BODY_TIMEOUT: "the server stopped in the middle of its answer",
  ETIMEDOUT: "the server does not answer",
  EHOSTUNREACH: "there is no route to that host",
  ENETUNREACH: "there is no route to that network",
  ENOTFOUND: "the host name does not exist",
  EAI_AGAIN: "the host name cannot be resolved now",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted: see agentbox trust",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted: see agentbox trust",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted: see agentbox trust",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not trusted: see agentbox trust",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not use TLS: use http://",
  HPE_INVALID_CONSTANT: "the answer is not HTTP; for TLS use https://",
};

export function networkFailure(error: unknown): string {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code, message } = one as NodeJS.ErrnoException;
    const known = texts[code ?? ""];
    if (known !== undefined) return known;
    if (one instanceof AggregateError && one.errors.length > 0) return networkFailure(one.errors[0]);
    if (message === "unexpected redirect")
      return "the server answered with a redirect, which is not followed because the key would be sent along";
  }
  return "the request failed";
}
