import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";

export const defaultUrl = "http://127.0.0.1:3000";

/** `scheme://host:port` without anything behind it; `InvalidApiUrl` (37) otherwise. */
export function checkedUrl(url: unknown): string {
  if (typeof url !== "string") throw refused("url takes a text");
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    // The text may hold user info, so that neither it nor the cause is shown.
    throw refused("url is no URL");
  }
  const { protocol, username, password, pathname, search, hash, hostname } = parsed;
  if (protocol !== "http:" && protocol !== "https:") throw refused("url takes http or https");
  if (username !== "" || password !== "") throw refused("url takes no user info: give credentials");
  if (hostname === "" || parsed.port === "0") throw refused("url names no host or no usable port");
  if ((pathname !== "/" && pathname !== "") || search !== "" || hash !== "" || /[?#]/.test(url)) {
    throw refused("url takes no path, query or fragment");
  }
  return parsed.origin;
}

const refused = (why: string): ValidationError =>
  new ValidationError(ErrorCode.InvalidApiUrl, `${why}; an example is ${defaultUrl}`);
