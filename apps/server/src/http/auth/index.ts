export { AccessTokens, type IssuedToken } from "./access-tokens.js";
export { Accounts } from "./accounts.js";
export { Authenticator } from "./authenticator.js";
export { TrustedIssuers } from "./trusted-issuers.js";
